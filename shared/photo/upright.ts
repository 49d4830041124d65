/** Position in degrees. */
export interface Corner {
  lat: number
  long: number
}

/** Positions of the four corners of the image, clockwise from the top left. */
export type Corners = readonly [Corner, Corner, Corner, Corner]

/**
 * Corner of the upright image for each corner of the stored one, by orientation. Source: Exif 2.32, 4.6.4: for example,
 * 6 means that the stored top is the visual right-hand side.
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

/** Converts displayed corners to stored ones: without its Exif orientation, the image keeps its place on the map. */
export function storedCorners(corners: Corners, orientation: number): Corners {
  const [a, b, c, d] = SEEN_AS[orientation] ?? [0, 1, 2, 3]
  const at = (place: number): Corner => corners[place] ?? corners[0]
  return [at(a), at(b), at(c), at(d)]
}
