import { PhotoFault } from './photo-fault.ts'

/** An image of 50 million pixels has some thousand: a scan may be in pieces of a few KB. */
const PARTS_MAX = 20_000
/** The largest profiles of printers have a few MB; those of cameras and screens a few KB. */
const PROFILE_BYTES_MAX = 4 * 1_048_576

/** Throws `PhotoFault` for more segments or chunks than an image has. */
export function requireFew(parts: number): void {
  if (parts > PARTS_MAX) throw new PhotoFault(`the image has more than ${PARTS_MAX} parts: save it again`)
}

/** Throws `PhotoFault` for a colour profile, unpacked, that is too large for what it says. */
export function requireProfile(bytes: number): void {
  if (bytes > PROFILE_BYTES_MAX)
    throw new PhotoFault(`the image has a colour profile of more than ${PROFILE_BYTES_MAX / 1_048_576} MB`)
}
