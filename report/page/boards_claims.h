/* The claims on which boards differ. */
#ifndef REPORT_PAGE_BOARDS_CLAIMS_H
#define REPORT_PAGE_BOARDS_CLAIMS_H

#include "report/page/boards.h"

boards_builder boards_claims;

#endif
