/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model_digest.h: what a model was made from. */
#ifndef OFFLINE_MODEL_DIGEST_H
#define OFFLINE_MODEL_DIGEST_H

#include "offline/base/digest.h"

#include <pugmark/model.h>

/* Adds all bytes that were analysed to make @model (elf_image_digest()): another file, or the same
 * one after a change, has another digest. */
void model_digest(const struct pugmark_model *model, struct digest *digest);

#endif
