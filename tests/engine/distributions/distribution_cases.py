"""One distribution of each class with parameters that both engines take, and values of its support."""

from __future__ import annotations

POSITIVE = [0.3, 1.0, 2.7]
REAL = [-1.5, 0.0, 2.2]
UNIT = [0.1, 0.5, 0.9]
SPD = [[2.0, 0.5], [0.5, 1.0]]

# name: (parameters, values); a parameter is a tensor's data, or a number that stays one
CASES = {
    "Bernoulli": ({"probs": UNIT}, [0.0, 1.0, 1.0]),
    "Beta": ({"concentration1": POSITIVE, "concentration0": [2.0, 0.5, 1.5]}, UNIT),
    "Binomial": ({"total_count": 7, "logits": REAL}, [0.0, 3.0, 7.0]),
    "Categorical": ({"logits": [REAL, UNIT]}, [2, 0]),
    "Cauchy": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Chi2": ({"df": POSITIVE}, POSITIVE),
    "ContinuousBernoulli": ({"probs": UNIT}, UNIT),
    "Dirichlet": ({"concentration": [POSITIVE, UNIT]}, [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]),
    "Exponential": ({"rate": POSITIVE}, POSITIVE),
    "FisherSnedecor": ({"df1": POSITIVE, "df2": [3.0, 5.0, 9.0]}, POSITIVE),
    "Gamma": ({"concentration": POSITIVE, "rate": [1.0, 2.0, 0.5]}, POSITIVE),
    "GeneralizedPareto": (
        {"loc": [0.0, 0.0, 0.0], "scale": POSITIVE, "concentration": [0.2, 0.0, 0.4]},
        POSITIVE,
    ),
    "Geometric": ({"probs": UNIT}, [0.0, 2.0, 5.0]),
    "Gumbel": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "HalfCauchy": ({"scale": POSITIVE}, POSITIVE),
    "HalfNormal": ({"scale": POSITIVE}, POSITIVE),
    "InverseGamma": ({"concentration": [2.5, 3.0, 4.0], "rate": POSITIVE}, POSITIVE),
    "Kumaraswamy": ({"concentration1": [1.5, 2.0, 3.0], "concentration0": [2.0, 1.5, 1.2]}, UNIT),
    "LKJCholesky": ({"dim": 2, "concentration": 1.5}, [[1.0, 0.0], [0.6, 0.8]]),
    "Laplace": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "LogNormal": ({"loc": REAL, "scale": UNIT}, POSITIVE),
    "LogisticNormal": ({"loc": REAL, "scale": POSITIVE}, [0.1, 0.2, 0.3, 0.4]),
    "LowRankMultivariateNormal": (
        {"loc": [0.5, -1.0], "cov_factor": [[1.0], [0.5]], "cov_diag": [0.5, 2.0]},
        [0.1, 0.2],
    ),
    "Multinomial": ({"total_count": 4, "probs": [0.2, 0.3, 0.5]}, [1.0, 0.0, 3.0]),
    "MultivariateNormal": ({"loc": [0.5, -1.0], "covariance_matrix": SPD}, [0.1, 0.2]),
    "NegativeBinomial": ({"total_count": 3, "probs": UNIT}, [0.0, 2.0, 5.0]),
    "Normal": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "OneHotCategorical": ({"logits": REAL}, [0.0, 1.0, 0.0]),
    "OneHotCategoricalStraightThrough": ({"probs": UNIT}, [0.0, 1.0, 0.0]),
    "Pareto": ({"scale": [0.1, 0.5, 1.0], "alpha": [2.5, 3.0, 4.0]}, POSITIVE),
    "Poisson": ({"rate": POSITIVE}, [0.0, 2.0, 5.0]),
    "RelaxedBernoulli": ({"temperature": [0.7], "probs": UNIT}, UNIT),
    "RelaxedOneHotCategorical": ({"temperature": [0.7], "logits": REAL}, [0.2, 0.3, 0.5]),
    "StudentT": ({"df": [2.5, 3.0, 9.0], "loc": REAL, "scale": POSITIVE}, REAL),
    "Uniform": ({"low": [-2.0, -1.0, 0.0], "high": [0.0, 1.0, 5.0]}, REAL),
    "VonMises": ({"loc": REAL, "concentration": POSITIVE}, REAL),
    "Weibull": ({"scale": POSITIVE, "concentration": [1.5, 2.0, 3.0]}, POSITIVE),
    "Wishart": ({"df": 4.0, "covariance_matrix": SPD}, SPD),
}


def make(torch, name, requires_grad=False):
    """Create the distribution with float64 parameters, and return it and the parameters that are tensors."""
    parameters, tensors = {}, []
    for key, value in CASES[name][0].items():
        if isinstance(value, list):
            value = torch.tensor(value, dtype=torch.float64, requires_grad=requires_grad)
            tensors.append(value)
        parameters[key] = value
    return getattr(torch.distributions, name)(**parameters), tensors


def values(torch, name):
    """Return values of the support."""
    dtype = torch.int64 if name == "Categorical" else torch.float64
    return torch.tensor(CASES[name][1], dtype=dtype)
