// Selected elements: see reduce.h.
#pragma once

#include "autograd/formulas/reduce.h"
