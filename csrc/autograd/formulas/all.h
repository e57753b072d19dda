// The functions that formulas of the yaml entries call, one header per subject.
#pragma once

#include "autograd/formulas/basics.h"
