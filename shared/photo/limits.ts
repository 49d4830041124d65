import { PhotoFault } from './photo-fault.ts'

/** An image of 50 million pixels has a few thousand segments: a scan may be split into a few KB each. */
const PARTS_MAX = 20_000
/** The largest printer profiles have a few MB; those of cameras and screens a few KB. */
const PROFILE_BYTES_MAX = 4 * 1_048_576

/** Throws `PhotoFault` for more segments or chunks than a genuine image has. */
export function requireFew(parts: number): void {
  if (parts > PARTS_MAX) throw new PhotoFault(`the image has more than ${PARTS_MAX} parts: save it again`)
}

/** Throws `PhotoFault` if an unpacked colour profile is larger than a genuine one. */
export function requireProfile(bytes: number): void {
  if (bytes > PROFILE_BYTES_MAX)
    throw new PhotoFault(`the image has a colour profile of more than ${PROFILE_BYTES_MAX / 1_048_576} MB`)
}
