// Gradients of selected elements: see reduce.h.
#pragma once

#include "autograd/formulas/reduce.h"
