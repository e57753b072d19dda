// Elements that were chosen: see reduce.h.
#pragma once

#include "autograd/formulas/reduce.h"
