"""`engine.nn.functional`: PyTorch's stateless functions for neural networks.

Operators with `python: [nn.functional]` in their yaml entry are generated. The files of this folder have the
functions that convert arguments in Python first (`reduction="mean"` to a code, a single number to a pair).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine._generated.ops import space as _space
from engine.function_forms import conv_tbc as conv_tbc
from engine.nn.functional.activation import celu as celu
from engine.nn.functional.activation import celu_ as celu_
from engine.nn.functional.activation import elu as elu
from engine.nn.functional.activation import elu_ as elu_
from engine.nn.functional.activation import hardsigmoid as hardsigmoid
from engine.nn.functional.activation import hardswish as hardswish
from engine.nn.functional.activation import hardtanh as hardtanh
from engine.nn.functional.activation import hardtanh_ as hardtanh_
from engine.nn.functional.activation import leaky_relu as leaky_relu
from engine.nn.functional.activation import leaky_relu_ as leaky_relu_
from engine.nn.functional.activation import logsigmoid as logsigmoid
from engine.nn.functional.activation import mish as mish
from engine.nn.functional.activation import relu as relu
from engine.nn.functional.activation import relu6 as relu6
from engine.nn.functional.activation import relu_ as relu_
from engine.nn.functional.activation import rrelu as rrelu
from engine.nn.functional.activation import rrelu_ as rrelu_
from engine.nn.functional.activation import selu as selu
from engine.nn.functional.activation import selu_ as selu_
from engine.nn.functional.activation import sigmoid as sigmoid
from engine.nn.functional.activation import silu as silu
from engine.nn.functional.activation import softsign as softsign
from engine.nn.functional.activation import tanh as tanh
from engine.nn.functional.activation import tanhshrink as tanhshrink
from engine.nn.functional.activation import threshold as threshold
from engine.nn.functional.activation import threshold_ as threshold_
from engine.nn.functional.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from engine.nn.functional.dropout import alpha_dropout as alpha_dropout
from engine.nn.functional.dropout import dropout as dropout
from engine.nn.functional.dropout import dropout1d as dropout1d
from engine.nn.functional.dropout import dropout2d as dropout2d
from engine.nn.functional.dropout import dropout3d as dropout3d
from engine.nn.functional.dropout import feature_alpha_dropout as feature_alpha_dropout
from engine.nn.functional.embedding import embedding as embedding
from engine.nn.functional.embedding import embedding_bag as embedding_bag
from engine.nn.functional.fractional_pooling import fractional_max_pool2d as fractional_max_pool2d
from engine.nn.functional.fractional_pooling import (
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
)
from engine.nn.functional.fractional_pooling import fractional_max_pool3d as fractional_max_pool3d
from engine.nn.functional.fractional_pooling import (
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from engine.nn.functional.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from engine.nn.functional.loss import binary_cross_entropy as binary_cross_entropy
from engine.nn.functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from engine.nn.functional.loss import cross_entropy as cross_entropy
from engine.nn.functional.loss import ctc_loss as ctc_loss
from engine.nn.functional.loss import gaussian_nll_loss as gaussian_nll_loss
from engine.nn.functional.loss import huber_loss as huber_loss
from engine.nn.functional.loss import kl_div as kl_div
from engine.nn.functional.loss import l1_loss as l1_loss
from engine.nn.functional.loss import mse_loss as mse_loss
from engine.nn.functional.loss import nll_loss as nll_loss
from engine.nn.functional.loss import poisson_nll_loss as poisson_nll_loss
from engine.nn.functional.loss import smooth_l1_loss as smooth_l1_loss
from engine.nn.functional.margin_loss import cosine_embedding_loss as cosine_embedding_loss
from engine.nn.functional.margin_loss import hinge_embedding_loss as hinge_embedding_loss
from engine.nn.functional.margin_loss import margin_ranking_loss as margin_ranking_loss
from engine.nn.functional.margin_loss import multi_margin_loss as multi_margin_loss
from engine.nn.functional.margin_loss import multilabel_margin_loss as multilabel_margin_loss
from engine.nn.functional.margin_loss import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from engine.nn.functional.margin_loss import soft_margin_loss as soft_margin_loss
from engine.nn.functional.margin_loss import triplet_margin_loss as triplet_margin_loss
from engine.nn.functional.margin_loss import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from engine.nn.functional.normalization import batch_norm as batch_norm
from engine.nn.functional.normalization import group_norm as group_norm
from engine.nn.functional.normalization import instance_norm as instance_norm
from engine.nn.functional.normalization import layer_norm as layer_norm
from engine.nn.functional.normalization import local_response_norm as local_response_norm
from engine.nn.functional.normalization import normalize as normalize
from engine.nn.functional.normalization import rms_norm as rms_norm
from engine.nn.functional.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from engine.nn.functional.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from engine.nn.functional.pooling import adaptive_max_pool1d as adaptive_max_pool1d
from engine.nn.functional.pooling import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
)
from engine.nn.functional.pooling import adaptive_max_pool2d as adaptive_max_pool2d
from engine.nn.functional.pooling import (
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
)
from engine.nn.functional.pooling import adaptive_max_pool3d as adaptive_max_pool3d
from engine.nn.functional.pooling import (
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
)
from engine.nn.functional.pooling import avg_pool1d as avg_pool1d
from engine.nn.functional.pooling import avg_pool2d as avg_pool2d
from engine.nn.functional.pooling import avg_pool3d as avg_pool3d
from engine.nn.functional.pooling import lp_pool1d as lp_pool1d
from engine.nn.functional.pooling import lp_pool2d as lp_pool2d
from engine.nn.functional.pooling import lp_pool3d as lp_pool3d
from engine.nn.functional.pooling import max_pool1d as max_pool1d
from engine.nn.functional.pooling import max_pool1d_with_indices as max_pool1d_with_indices
from engine.nn.functional.pooling import max_pool2d as max_pool2d
from engine.nn.functional.pooling import max_pool2d_with_indices as max_pool2d_with_indices
from engine.nn.functional.pooling import max_pool3d as max_pool3d
from engine.nn.functional.pooling import max_pool3d_with_indices as max_pool3d_with_indices
from engine.nn.functional.pooling import max_unpool1d as max_unpool1d
from engine.nn.functional.pooling import max_unpool2d as max_unpool2d
from engine.nn.functional.pooling import max_unpool3d as max_unpool3d
from engine.nn.functional.softmax import gumbel_softmax as gumbel_softmax
from engine.nn.functional.softmax import log_softmax as log_softmax
from engine.nn.functional.softmax import softmax as softmax
from engine.nn.functional.softmax import softmin as softmin
from engine.nn.functional.vision import affine_grid as affine_grid
from engine.nn.functional.vision import fold as fold
from engine.nn.functional.vision import grid_sample as grid_sample
from engine.nn.functional.vision import interpolate as interpolate
from engine.nn.functional.vision import unfold as unfold
from engine.nn.functional.vision import upsample as upsample
from engine.nn.functional.vision import upsample_bilinear as upsample_bilinear
from engine.nn.functional.vision import upsample_nearest as upsample_nearest
from engine.overrides import has_torch_function as has_torch_function
from engine.overrides import has_torch_function_unary as has_torch_function_unary
from engine.overrides import has_torch_function_variadic as has_torch_function_variadic

if TYPE_CHECKING:
    from engine._generated.functions_nn_functional import *  # noqa: F403
else:
    _find, __dir__ = _space("nn.functional", globals())

    def __getattr__(name: str) -> Any:
        try:
            return _find(name)
        except AttributeError:
            from engine.absent_names import absent

            raise absent("nn.functional", name) from None
