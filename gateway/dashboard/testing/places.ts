/** Place on the course: metres to the east and to the north of the barn. */
export interface Place {
  eastM: number
  northM: number
}

export const PLACES = {
  barn: { eastM: 0, northM: 0 },
  fairway: { eastM: 150, northM: 260 },
  green: { eastM: 150, northM: 420 },
  /** Beyond the boundary. */
  road: { eastM: 900, northM: 0 },
} as const satisfies Record<string, Place>

const BARN = { lat: 28.41, long: -81.58 }
const M_PER_DEGREE = 111_320

export function toLatLong({ eastM, northM }: Place): { lat: number; long: number } {
  const east = eastM / (M_PER_DEGREE * Math.cos((BARN.lat * Math.PI) / 180))
  return { lat: BARN.lat + northM / M_PER_DEGREE, long: BARN.long + east }
}
