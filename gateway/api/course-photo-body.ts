import { bytesBodyUpTo } from '#shared/http/request-guards.ts'
import { PHOTO_TYPES } from '#shared/photo/photo-type.ts'

/** The image of the course. */
export const imageBody = bytesBodyUpTo(8 * 1_048_576, PHOTO_TYPES)
