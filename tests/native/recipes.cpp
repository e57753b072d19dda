#include "recipes.h"

namespace uh::test {
namespace {

constexpr const char* kRecipes = R"(
prelu, _prelu_kernel: self=f:N,C weight=f:C|f:1
glu: self=f:A,B*2 dim=1|-1
nan_to_num: self=n:N,M
linalg_cross: self=z:A,3 other=z:A,3 dim=-1|1
cross: self=z:A,3 other=z:A,3 dim=-1|1|None
complex: real=f:A,B imag=f:A,B
polar: abs=f:A,B angle=f:A,B
real_view, imag_view, view_as_real: self=c:*,N
view_as_complex, view_as_complex_copy: self=f:*,2
vdot, dot: self=z:N other=z:N tensor=z:N
adjoint: self=z:*,M,N
diag_embed: self=n:*,N offset=-2..2 dim1=-2|0 dim2=-1|1
diag: self=n:N|n:N,M diagonal=-2..2
repeat_interleave.Tensor: repeats=i<4:N output_size=None
repeat_interleave.self_Tensor: self=n:N,M repeats=i<4:N|i<4:1 dim=0 output_size=None
repeat_interleave.self_int: self=n:N,M repeats=0..3 dim=0|1|None output_size=None
tile: self=n:A,B dims=[2,1]|[1,2,3]|[]
repeat: self=n:A,B repeats=[2,1]|[1,2,3]|[0,1]
meshgrid.indexing, cartesian_prod: tensors={n:A;n:B}|{n:A;n:B;n:C} indexing=ij|xy
block_diag: tensors={n:A,B;n:C;n:}
combinations: self=n:N r=0..3
rot90: self=n:A,B k=-3..5 dims=[0,1]|[1,0]|[-1,0]
flip: self=n:A,B,C dims=[0]|[1,2]|[-1,0]|[]
fliplr, flipud: self=n:A,B,C
tensor_split.sections, chunk: self=n:A,B sections=1..3 chunks=1..3 dim=0|1
tensor_split.indices: self=n:A,B indices=[1]|[0,2]|[-1,5] dim=0|1
tensor_split.tensor_indices_or_sections: self=n:A,B tensor_indices_or_sections=i>3:|i<3:N dim=0|1
hsplit.int, vsplit.int, dsplit.int: self=n:4,4,4 sections=1|2|4
hsplit.array, vsplit.array, dsplit.array: self=n:A,B,C indices=[1,2]|[0]|[]
split.Tensor: self=n:A,B split_size=1..3 dim=0|1
split_with_sizes, split_with_sizes_copy, unsafe_split_with_sizes: self=n:A+B,C split_sizes=[A,B] dim=0
narrow_copy, narrow: self=n:A+1,B dim=0 start=0|1|-1 length=A|1|0
narrow.Tensor: self=n:A+1,B dim=0 start=i<2: length=A|1|0
scaled_dot_product_attention, _scaled_dot_product_attention_math: query=f:N,H,L,E key=f:N,H,S,E value=f:N,H,S,V attn_mask=None|f:L,S|b:L,S|f:N,1,L,S dropout_p=0.0|0.5 is_causal=0|0|1 dropout_mask=None|b:N,H,L,S scale=None|0.5 enable_gqa=0
scaled_dot_product_attention, _scaled_dot_product_attention_math: query=f:N,H*2,L,E key=f:N,H,L,E value=f:N,H,L,E attn_mask=None dropout_p=0.0 is_causal=0|1 dropout_mask=None enable_gqa=1
_scaled_dot_product_flash_attention_for_cpu: query=f:N,H,L,E key=f:N,H,S,E value=f:N,H,S,E dropout_p=0.0 is_causal=0|1 attn_mask=None|f:L,S scale=None|0.5
convolution: input=f:N,G*C,L+2 weight=f:G*K,C,W bias=None|f:G*K stride=[S] padding=[0..2] dilation=[1|2] transposed=0 output_padding=[0] groups=G
convolution: input=f:N,G*C,A,B weight=f:G*C,K,W,V bias=None|f:G*K stride=[2] padding=[0..1] dilation=[1] transposed=1 output_padding=[0..1] groups=G
conv1d: input=f:N,G*C,L+2|f:G*C,L+2 weight=f:G*K,C,W bias=None|f:G*K stride=[S] padding=[0..3] dilation=[1..2] groups=G
conv1d.padding: input=f:N,G*C,L+2 weight=f:G*K,C,W bias=None|f:G*K stride=[1] padding=same|valid dilation=[1..2] groups=G
conv2d: input=f:N,G*C,A+2,B+2|f:G*C,A+2,B+2 weight=f:G*K,C,W,V bias=None|f:G*K stride=[S] padding=[0..2,0..2] dilation=[1..2] groups=G
conv2d.padding: input=f:N,G*C,A+2,B+2 weight=f:G*K,C,W,V bias=None|f:G*K stride=[1,1] padding=same|valid dilation=[1..2] groups=G
conv3d: input=f:N,G*C,A+2,B+2,L+2 weight=f:G*K,C,W,V,2 bias=None|f:G*K stride=[S] padding=[0..2] dilation=[1..2] groups=G
conv3d.padding: input=f:N,G*C,A+2,B+2,L+2 weight=f:G*K,C,W,V,2 bias=None|f:G*K stride=[1] padding=same|valid dilation=[1..2] groups=G
conv_transpose1d: input=f:N,G*C,L|f:G*C,L weight=f:G*C,K,W bias=None|f:G*K stride=[2] padding=[0..1] output_padding=[0..1] groups=G dilation=[1..2]
conv_transpose2d.input: input=f:N,G*C,A,B weight=f:G*C,K,W,V bias=None|f:G*K stride=[2,S] padding=[0..1] output_padding=[0] groups=G dilation=[1..2]
conv_transpose3d.input: input=f:N,G*C,A,B,L weight=f:G*C,K,W,V,2 bias=None|f:G*K stride=[2] padding=[0..1] output_padding=[0..1] groups=G dilation=[1..2]
nll_loss_forward, nll_loss: self=f:N,C|f:C target=i<C:N|i<C: weight=None|f:C reduction=0..2 ignore_index=-100|0|1
nll_loss2d_forward, nll_loss2d: self=f:N,C,H,W target=i<C:N,H,W weight=None|f:C reduction=0..2 ignore_index=-100|0
nll_loss_nd: self=f:N,C,L target=i<C:N,L weight=None|f:C reduction=0..2 ignore_index=-100|0
cross_entropy_loss: self=f:N,C target=i<C:N|f:N,C weight=None|f:C reduction=0..2 ignore_index=-100 label_smoothing=0.0|0.1
cross_entropy_loss: self=f:N,C,L target=i<C:N,L|f:N,C,L weight=None|f:C reduction=0..2 ignore_index=-100 label_smoothing=0.0|0.1
_ctc_loss, ctc_loss.IntList: log_probs=f:T+2,N,C+1 targets=i<C:N,S|i<C:N*S input_lengths=[T+2;N] target_lengths=[S;N] blank=C reduction=0..2
ctc_loss.Tensor: log_probs=f:T+2,N,C+1 targets=i<C:N,S|i<C:N*S input_lengths=i>T+2:N target_lengths=i<S+1:N blank=C reduction=0..2
linalg_cholesky_ex, linalg_cholesky, cholesky, cholesky_inverse: self=zp:*,N,N check_errors=0
cholesky_solve: self=z:*,N,K input2=zp:*,N,N
linalg_qr: A=z:*,M,N mode=reduced|complete|r
qr, geqrf: self=z:*,M,N
linalg_householder_product: input=z:*,N+K,N tau=z:*,N
orgqr: self=z:*,N+K,N input2=z:*,N
ormqr: self=z:*,N+K,N input2=z:*,N input3=z:*,N+K,M left=1
_linalg_eigh: A=z:*,N,N UPLO=L|U
linalg_eigh, linalg_eigvalsh: self=z:*,N,N UPLO=L|U
linalg_eig, linalg_eigvals: self=z:*,N,N
_linalg_svd, linalg_svd, linalg_svdvals: A=z:*,M,N driver=None
svd: self=z:*,M,N
linalg_pinv, pinverse: self=z:*,M,N rcond=1e-15|0.1
linalg_pinv.atol_rtol_tensor, linalg_matrix_rank.atol_rtol_tensor: self=z:*,M,N input=z:*,M,N atol=None|f: rtol=None|f: hermitian=0
linalg_pinv.atol_rtol_float, linalg_matrix_rank.atol_rtol_float: self=z:*,M,N atol=None|0.1 rtol=None|0.1 hermitian=0
linalg_pinv.rcond_tensor, linalg_matrix_rank.tol_tensor: self=z:*,N,N input=z:*,N,N rcond=f: tol=f: hermitian=0|1
linalg_matrix_rank: self=z:*,M,N tol=0.1 hermitian=0
linalg_ldl_factor_ex, linalg_ldl_factor: self=zp:*,N,N
linalg_ldl_solve: LD=zp:*,N,N pivots=j>N:*,N B=z:*,N,K
linalg_lstsq: self=z:*,M,N b=z:*,M,K rcond=None|0.1 driver=None|gelsy|gelsd|gels|gelss
cdist: x1=f:*,P,M x2=f:*,R,M p=2.0|1.0|0.0|3.0|inf compute_mode=None|0|1|2
pdist: self=f:N,M p=2.0|1.0|0.0|3.0|inf
einsum: equation=ij,jk->ik|ij,jk|...ij,jk->...ik tensors={z:I,J;z:J,K} path=None
einsum: equation=ii->i|ii|i...->... tensors={z:I,I} path=None
einsum: equation=i,j,k->ijk|i,j,k->|a,b,c->ca tensors={z:I;z:J;z:K} path=None|[0,1,0,1]
embedding: weight=f:V,E indices=i<V:*|j<V:* padding_idx=-1|0
embedding_renorm_: self=f:V,E indices=i<V:N max_norm=1.0 norm_type=2.0|1.0
embedding_bag: weight=f:V,E indices=i<V:N offsets=i<1:B per_sample_weights=None mode=0..2 padding_idx=-1
embedding_bag: weight=f:V,E indices=i<V:N offsets=i<1:1 per_sample_weights=f:N mode=0 padding_idx=-1|0
one_hot: self=i<V:* num_classes=V|-1
_fft_c2c: self=c:*,M,N dim=[0]|[1]|[0,1] normalization=0..2
_fft_r2c: self=f:*,M,N dim=[0]|[1]|[0,1] normalization=0..2
_fft_c2r: self=c:*,M,N dim=[0]|[1]|[0,1] normalization=0..2 last_dim_size=M|N|2*N
fft_fft, fft_ifft, fft_rfft, fft_irfft, fft_hfft, fft_ihfft: self=f:*,N|z:*,N n=None|1..9 dim=-1|0
fft_fft2, fft_ifft2, fft_rfft2, fft_irfft2, fft_hfft2, fft_ihfft2: self=f:M,N|z:M,N s=None|[1..5,1..5] dim=[-2,-1]|[1,0]
fft_fftn, fft_ifftn, fft_rfftn, fft_irfftn, fft_hfftn, fft_ihfftn: self=f:L,M,N|z:L,M,N s=None dim=None|[0,2]
fft_fftfreq, fft_rfftfreq: n=1..9 d=1.0|0.5
gather: self=n:A,B dim=1|-1 index=i<B:A,C
gather: self=n:A,B dim=0 index=i<A:C,B
index_select: self=n:A,B dim=0 index=i<A:N|j<A:N
take: self=n:A,B index=i<A*B:N,M
take_along_dim: self=n:A,B indices=i<A:C,B dim=0
index.Tensor: self=n:A,B indices={i<A:N;i<B:N}|{b:A,B}|{-;i<B:N}|{i<A:N,1;i<B:M}|{b:A;-}
index_put: self=n:A,B indices={i<A:N;i<B:N} values=n:N|n:1|n: accumulate=0|1
index_put: self=n:A,B indices={b:A,B}|{i<A:N}|{-;b:B} values=n:1|n: accumulate=0|1
index_add, index_copy, index_reduce: self=n:A,B dim=0|-2 index=i<A:N|j<A:N source=n:N,B reduce=prod|mean|amax|amin alpha=1|2
index_fill.int_Tensor: self=n:A,B dim=0 index=i<A:N value=n:
index_fill.int_Scalar: self=n:A,B dim=0 index=i<A:N value=1
put: self=n:A,B index=i<A*B:N source=n:N
cat: tensors={n:A,C;n:B,C}|{n:A,C;n:0;n:B,C} dim=0
stack, hstack, vstack, dstack, column_stack: tensors={n:A,B;n:A,B}|{n:A;n:A} dim=0|1|-1
roll: self=n:A,B shifts=[1]|[-3] dims=[0]|[1]
roll: self=n:A,B shifts=[1,-2] dims=[0,1]
mm, linalg_matmul: self=z:M,K mat2=z:K,N other=z:K,N
bmm: self=z:B,M,K mat2=z:B,K,N
mv: self=z:M,K vec=z:K
matmul: self=z:*,M,K|z:K other=z:*,K,N|z:K
binary_cross_entropy: self=fu:*,N target=fu:*,N weight=None|f:*,N reduction=0..2
binary_cross_entropy_with_logits: self=f:*,N target=fu:*,N weight=None|f:*,N pos_weight=None|f:N reduction=0..2
mse_loss, l1_loss, soft_margin_loss, smooth_l1_loss, huber_loss, kl_div, hinge_embedding_loss: self=f:*,N target=f:*,N reduction=0..2 beta=1.0|0.5|0.0 delta=1.0|0.5
poisson_nll_loss: input=f:*,N target=f:*,N eps=1e-8 reduction=0..2
margin_ranking_loss: input1=f:*,N input2=f:*,N target=f:*,N reduction=0..2
cosine_embedding_loss: input1=f:N,C input2=f:N,C target=f:N reduction=0..2
triplet_margin_loss: anchor=f:N,C positive=f:N,C negative=f:N,C p=2.0|1.0 reduction=0..2
multi_margin_loss: self=f:N,C|f:C target=i<C:N|i<C: p=1|2 weight=None|f:C reduction=0..2
multilabel_margin_loss_forward, multilabel_margin_loss: self=f:N,C target=i<C:N,C reduction=0..2
masked_fill.Scalar: self=n:A,B mask=b:A,B|b:B|b: value=1
masked_fill.Tensor: self=n:A,B mask=b:A,B|b:B value=n:
masked_select: self=n:A,B mask=b:A,B|b:A,1
masked_scatter: self=n:A,B mask=b:A,B source=n:A,B
nonzero_static: size=0..9
cov: self=f:M,N fweights=None|i>3:N aweights=None|fu:N
native_layer_norm, layer_norm: input=f:*,A,B normalized_shape=[A,B] weight=None|f:A,B bias=None|f:A,B eps=1e-5
_fused_rms_norm, rms_norm: input=f:*,A,B normalized_shape=[A,B] weight=None|f:A,B eps=None|1e-5
native_group_norm: input=f:N,G*C,L weight=None|f:G*C bias=None|f:G*C N=N C=G*C HxW=L group=G eps=1e-5
group_norm: input=f:N,G*C,L num_groups=G weight=None|f:G*C bias=None|f:G*C eps=1e-5
native_batch_norm, batch_norm, instance_norm: input=f:N,C,L|f:N,C,A,B weight=None|f:C bias=None|f:C running_mean=None|f:C running_var=None|f:C training=1 use_input_stats=1 momentum=0.1 eps=1e-5
native_batch_norm, batch_norm, instance_norm: input=f:N,C,L weight=None|f:C bias=None|f:C running_mean=f:C running_var=f:C training=0 use_input_stats=0 momentum=0.1 eps=1e-5
native_batch_norm.out: input=f:N,C,L weight=None|f:C bias=None|f:C running_mean=f:C running_var=f:C momentum=0.1 eps=1e-5 out=f:N,C,L save_mean=f:C save_invstd=f:C
linalg_vector_norm: self=z:A,B ord=0..3|0.5|inf|-1 dim=None|[0]|[0,1] dtype=None
linalg_matrix_norm: self=z:*,M,N ord=1|2|-1|-2|inf dim=[-2,-1] dtype=None
linalg_matrix_norm.str_ord: self=z:*,M,N ord=fro|nuc dim=[-2,-1] dtype=None
linalg_norm: self=z:M,N ord=None|1|2|-2|inf dim=None|[0,1]|[1] dtype=None
linalg_norm.ord_str: self=z:M,N ord=fro|nuc dim=None|[0,1] dtype=None
norm.ScalarOpt_dtype, norm.ScalarOpt_dim_dtype: self=f:A,B p=None|1|2 dim=[0]|[0,1]|[] dtype=9
norm.ScalarOpt_dim, frobenius_norm.dim: self=z:A,B p=None|1|2 dim=[0]|[0,1]|[]
nuclear_norm, nuclear_norm.dim: self=z:M,N dim=[0,1]|[1,0]
renorm: self=z:A,B,C p=1|2|inf dim=0|1|-1 maxnorm=1|0.5
constant_pad_nd, pad: self=n:*,A,B pad=[1,1]|[0,2,1,-1] mode=constant value=None|1
pad, _pad_circular: self=n:A,B,C+2,D+2 pad=[1,1,1,0] mode=reflect|replicate|circular value=None
reflection_pad1d, replication_pad1d: self=z:N,C,L+2 padding=[0..2,0..2]
reflection_pad2d, replication_pad2d: self=z:N,C,H+2,L+2 padding=[0..2,0..2,1,1]
reflection_pad3d, replication_pad3d: self=z:N,C,D+2,H+2,L+2 padding=[0..2,0..2,1,1,0,1]
max_pool1d, max_pool1d_with_indices, avg_pool1d: self=f:N,C,L+2|f:C,L+2 kernel_size=[1..3] stride=[]|[1..3] padding=[0..1] dilation=[1..2]
max_pool2d, max_pool2d_with_indices, avg_pool2d: self=f:N,C,H+2,W+2|f:C,H+2,W+2 kernel_size=[1..3,1..3] stride=[]|[1..3] padding=[0..1] dilation=[1..2] divisor_override=None|3|-1
max_pool3d, max_pool3d_with_indices, avg_pool3d: self=f:N,C,H+2,W+2,L+2 kernel_size=[1..3,1..3,2] stride=[]|[1..3] padding=[0..1] dilation=[1..2] divisor_override=None|3
adaptive_avg_pool1d, adaptive_max_pool1d: self=f:N,C,L|f:C,L output_size=[1..5]
adaptive_avg_pool2d, adaptive_max_pool2d: self=f:N,C,H,W output_size=[1..5,1..5]
adaptive_avg_pool3d, adaptive_max_pool3d: self=f:N,C,H,W,L output_size=[1..5,1..5,2]
max_unpool2d: self=f:N,C,H,W indices=i<H*W:N,C,H,W output_size=[H,W]|[H+1,W+2]
max_unpool3d: self=f:N,C,D,H,W indices=i<D*H*W:N,C,D,H,W output_size=[D,H+1,W] stride=[1,1,1] padding=[0,0,0]
addmm: self=z:M,N|z:N mat1=z:M,K mat2=z:K,N beta=1|0|2 alpha=1|0|2
baddbmm: self=z:B,M,N batch1=z:B,M,K batch2=z:B,K,N beta=1|0|2 alpha=1|2
addbmm: self=z:M,N batch1=z:B,M,K batch2=z:B,K,N beta=1|0|2 alpha=1|2
addmv: self=z:M|z:1 mat=z:M,K vec=z:K beta=1|0|2 alpha=1|2
addr: self=z:M,N vec1=z:M vec2=z:N beta=1|0|2 alpha=1|2
outer, ger: self=z:M vec2=z:N
inner: self=z:*,M,K other=z:N,K
trace: self=n:M,N
kron: self=z:A,B other=z:C,D
tensordot: self=z:A,B,C other=z:B,C,D dims_self=[1,2] dims_other=[0,1]
tensordot: self=z:A,B other=z:B,D dims_self=[1]|[-1] dims_other=[0]
linalg_multi_dot: tensors={z:A,B;z:B,C;z:C,D}|{z:B;z:B,C}
linalg_matrix_power, matrix_power: self=zp:*,N,N n=-3..6
linalg_vander: x=z:*,N N=None|1..5
linear: input=z:*,M,K|z:K weight=z:N,K bias=None|z:N
bilinear: input1=f:N,A input2=f:N,B weight=f:K,A,B bias=None|f:K
bernoulli, poisson: self=fu:A,B p=0.5|0.0|1.0
bernoulli_.Tensor: self=f:A,B p=fu:A,B
multinomial: self=fu:N,M+2|fu:M+2 num_samples=1|2
normal.Tensor_Tensor: mean=f:A,B std=fu:A,B
rand, randn: size=[A,B] dtype=None|8|9
randint: low=-3..0 high=1..9 size=[A,B] dtype=None|4|8
randint_like: self=n:A,B low=0 high=1..9 dtype=None|4|8
random_: self=n:A,B low=0 high=1..9
randperm: n=0..20 dtype=None|4|5
uniform_: self=f:A,B from=0.0|-1.0 to=1.0|2.0
normal_, cauchy_, log_normal_: self=f:A,B mean=0.0 std=1.0 median=0.0 sigma=1.0
exponential_: self=f:A,B lambd=1.0|0.5
geometric_: self=f:A,B p=0.5|0.1
native_dropout, dropout, dropout_, feature_dropout, alpha_dropout, feature_alpha_dropout: input=f:A,B,C self=f:A,B,C p=0.5|0.0|1.0 train=0|1
upsample_nearest1d, _upsample_nearest_exact1d, upsample_linear1d: self=f:N,C,L output_size=[1..7] scales=None|2.0
upsample_nearest2d, _upsample_nearest_exact2d, upsample_bilinear2d, upsample_bicubic2d, _upsample_bilinear2d_aa, _upsample_bicubic2d_aa: self=f:N,C,H,W output_size=[1..7,1..7] scales_h=None|2.0|0.4 scales_w=None|0.5
upsample_nearest3d, _upsample_nearest_exact3d, upsample_trilinear3d: self=f:N,C,D,H,W output_size=[1..4,1..4,1..4] scales_d=None scales_h=None|2.0 scales_w=None
upsample_nearest1d.vec, _upsample_nearest_exact1d.vec, upsample_linear1d.vec: input=f:N,C,L output_size=None scale_factors=[2.0]|[0.7]
upsample_nearest1d.vec, _upsample_nearest_exact1d.vec, upsample_linear1d.vec: input=f:N,C,L output_size=[1..7] scale_factors=None
upsample_nearest2d.vec, _upsample_nearest_exact2d.vec, upsample_bilinear2d.vec, upsample_bicubic2d.vec, _upsample_bilinear2d_aa.vec, _upsample_bicubic2d_aa.vec: input=f:N,C,H,W output_size=None scale_factors=[2.0,1.5]|[0.7,0.4]
upsample_nearest2d.vec, _upsample_nearest_exact2d.vec, upsample_bilinear2d.vec, upsample_bicubic2d.vec, _upsample_bilinear2d_aa.vec, _upsample_bicubic2d_aa.vec: input=f:N,C,H,W output_size=[1..7,1..7] scale_factors=None
upsample_nearest3d.vec, _upsample_nearest_exact3d.vec, upsample_trilinear3d.vec: input=f:N,C,D,H,W output_size=None scale_factors=[2.0,1.5,1.0]
grid_sampler, grid_sampler_2d: input=f:N,C,H,W grid=f:N,A,B,2 interpolation_mode=0..2 padding_mode=0..2
grid_sampler_3d, grid_sampler: input=f:N,C,D,H,W grid=f:N,A,B,E,3 interpolation_mode=0..1 padding_mode=0..2
affine_grid_generator: theta=f:N,2,3 size=[N,C,H,W]
affine_grid_generator: theta=f:N,3,4 size=[N,C,D,H,W]
pixel_shuffle: self=n:*,C*4,H,W upscale_factor=2|1
pixel_unshuffle: self=n:*,C,H*2,W*2 downscale_factor=2|1
channel_shuffle, native_channel_shuffle: self=n:N,G*C,H,W groups=G
scatter.src, scatter.reduce, scatter_add, scatter_reduce.two: self=n:A,B dim=0 index=i<A:C,B src=n:C,B reduce=add|multiply|sum|prod|mean|amax|amin
scatter.src, scatter.reduce, scatter_add, scatter_reduce.two: self=n:A,B dim=1|-1 index=i<B:A,C src=n:A,C reduce=add|multiply|sum|prod|mean|amax|amin
scatter.value, scatter.value_reduce: self=n:A,B dim=0 index=i<A:C,B value=1|2 reduce=add|multiply
searchsorted.Tensor: sorted_sequence=n:N|n:A,N self=n:A,M sorter=None side=None|left|right
searchsorted.Scalar: sorted_sequence=n:N self=1|2.5 sorter=None|i<N:N side=None|left|right
bucketize.Tensor, bucketize.Scalar: boundaries=n:N
bincount: self=i<V:N weights=None|f:N minlength=0..9
linalg_lu_factor_ex, linalg_lu_factor, linalg_lu: A=z:*,M,N
lu_unpack: LU_data=z:*,N,N LU_pivots=j>N:*,N
linalg_lu_solve: LU=zp:*,N,N pivots=j>N:*,N B=z:*,N,K left=1
lu_solve: self=z:*,N,K LU_data=zp:*,N,N LU_pivots=j>N:*,N
_linalg_solve_ex, linalg_solve_ex, linalg_solve: A=zp:*,N,N B=z:*,N,K|z:*,N left=1
linalg_inv_ex, linalg_inv, _linalg_det, linalg_det, _linalg_slogdet, linalg_slogdet: A=zp:*,N,N
inverse, det, slogdet, logdet: self=zp:*,N,N
linalg_solve_triangular: self=zp:*,N,N B=z:*,N,K left=1
triangular_solve: self=z:*,N,K A=zp:*,N,N
linalg_tensorinv: self=z:2,2,4 ind=2
linalg_tensorinv: self=z:4,2,2 ind=1
linalg_tensorsolve: self=z:2,2,4 other=z:2,2 dims=None
kthvalue: self=f:A,B+1 k=1 dim=-1
topk: self=f:A,B+2 k=0..2 dim=-1
sort, argsort, msort: self=n:A,B dim=0|1|-1 stable=0|1
polygamma, polygamma_, _polygamma: n=0..4 order=2..4 self=f:A,B
mvlgamma, special_multigammaln: self=f:A,B p=1..3
quantile, nanquantile: self=f:A,B q=fu:M|fu: dim=None|0|1
quantile.scalar, nanquantile.scalar: self=f:A,B q=0.5|0.0|1.0|0.3 dim=None|0|1
histc: self=f:A,B bins=1..9 min=0|-2 max=0|3
histogram.bins_tensor: self=f:A,B bins=f:2|f:1 weight=None|f:A,B
histogram.bin_ct: self=f:A,B bins=1..9 range=None|[-1.0,2.0] weight=None|f:A,B
im2col: self=f:N,C,H+1,W+1 kernel_size=[2,2] dilation=[1,1] padding=[0..1,0] stride=[1,1..2]
col2im: self=f:N,C*4,H*W output_size=[H+1,W+1] kernel_size=[2,2] dilation=[1,1] padding=[0,0] stride=[1,1]
unique_dim: self=n:A,B dim=0|1|-1
as_strided, as_strided_: self=n:A+8 size=[2,2]|[3]|[] stride=[2,1]|[2]|[] storage_offset=None|0|1
as_strided_scatter: self=n:A+8 src=n:2,2 size=[2,2] stride=[2,1]|[1,3] storage_offset=None|0|1
view, reshape: self=n:A,B size=[A*B]|[B,A]|[-1]|[1,A,-1] shape=[A*B]|[B,A]|[-1]
view.dtype: self=n:*,A*8 dtype=0..9
permute: self=n:A,B,C dims=[2,0,1]|[0,-1,1]
numpy_T, t, t_: self=n:A,B
expand: self=n:A,1 size=[A,B]|[-1,B]|[C,A,B]
expand_as: self=n:A,1 other=n:A,B
view_as: self=n:A,B other=n:B,A
movedim.intlist, moveaxis: self=n:A,B,C source=[0]|[-1] destination=[2]|[1]
flatten: self=n:A,B,C start_dim=0|1 end_dim=-1|2
unflatten: self=n:A*B,C dim=0 sizes=[A,B]|[A,-1]
unfold: self=n:A+3,B dimension=0 size=1..3 step=1..3
squeeze, squeeze_: self=n:A,1,B dim=None|[1]|[0,1]
resize_: self=n:A,B size=[B,A]|[C]|[A,B,C]
empty, zeros, ones, full: size=[A,B]|[]|[N] dtype=None|0..11
new_empty, new_zeros, new_ones, new_full: self=n:A size=[A,B]|[] dtype=None|0..11
empty_strided: size=[A,B] stride=[B,1]|[1,A]|[0,1] dtype=None|8
eye: n=0..9 m=None|0..9 dtype=None|8|0
arange: start=0|-3|1.5 end=5|9|2.5 step=1|2|0.5 dtype=None|4|5|8
linspace: start=0|-3|1.5 end=5|9|2.5 steps=0..9 dtype=None|8
tril_indices, triu_indices: row=0..5 col=0..5 offset=-2..2 dtype=None|5|4
select_scatter: self=n:A,B src=n:B dim=0 index=0|-1
slice_scatter: self=n:A,B src=n:A,B dim=0|1 start=None end=None step=1
diagonal_scatter: self=n:N,N src=n:N offset=0 dim1=0 dim2=1
)";

std::map<std::string, std::vector<Recipe>> read_recipes() {
  std::map<std::string, std::vector<Recipe>> all;
  for (const std::string& line : split(kRecipes, '\n')) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    Recipe recipe;
    for (const std::string& part : split(line.substr(colon + 2), ' ')) {
      const auto equals = part.find('=');
      recipe[part.substr(0, equals)] = part.substr(equals + 1);
    }
    for (const std::string& name : split(line.substr(0, colon), ','))
      all[name.substr(name.find_first_not_of(' '))].push_back(recipe);
  }
  return all;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

const std::vector<Recipe>& recipes_for(const std::string& full_name) {
  static const auto all = read_recipes();
  static const std::vector<Recipe> none;
  const auto dot = full_name.find('.');
  std::string base = full_name.substr(0, dot);
  std::string functional = base;
  if (functional.size() > 1 && functional.back() == '_') functional.pop_back();
  const std::string overload = dot == std::string::npos ? "" : full_name.substr(dot);
  // The out= form of an overload: "gather.out", "scatter.src_out", "quantile.scalar_out".
  const bool writes = overload.ends_with("_out");
  const std::string read = writes ? overload.substr(0, overload.size() - 4) : overload;
  for (const std::string& name :
       {full_name, functional + overload, base + read, base, functional}) {
    if (const auto found = all.find(name); found != all.end()) return found->second;
  }
  return none;
}

}  // namespace uh::test
