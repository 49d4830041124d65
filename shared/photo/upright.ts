/** A place in degrees. */
export interface Corner {
  lat: number
  long: number
}

/** Where the four corners of the image lie, from its top left clockwise. */
export type Corners = readonly [Corner, Corner, Corner, Corner]

/**
 * For each orientation, which corner of the upright image each corner of the stored one is. Source: Exif 2.32, 4.6.4:
 * 6, for one, says that the stored top is the right side of what is seen.
 */
const SEEN_AS: Readonly<Record<number, readonly [number, number, number, number]>> = {
  1: [0, 1, 2, 3],
  2: [1, 0, 3, 2],
  3: [2, 3, 0, 1],
  4: [3, 2, 1, 0],
  5: [0, 3, 2, 1],
  6: [1, 2, 3, 0],
  7: [2, 1, 0, 3],
  8: [3, 0, 1, 2],
}

/**
 * The corners of an image as it is stored, of those as it is seen: with its Exif it loses how it is to be turned, and
 * lies on the map all the same as it was placed.
 */
export function storedCorners(corners: Corners, orientation: number): Corners {
  const [a, b, c, d] = SEEN_AS[orientation] ?? [0, 1, 2, 3]
  const at = (place: number): Corner => corners[place] ?? corners[0]
  return [at(a), at(b), at(c), at(d)]
}
