import { PHOTO_TYPES } from '#domain/photo/photo-type.ts'
import { bytesBodyUpTo } from '#shared/http/request-guards.ts'

/** The image of the course. */
export const imageBody = bytesBodyUpTo(8 * 1_048_576, PHOTO_TYPES)
