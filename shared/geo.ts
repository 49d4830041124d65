const E7 = 1e7
const MILLI = 1e3

/** Converts degrees to units of 1e-7 (1.1 cm at the equator); 7 decimals survive the round trip through `fromE7`. */
export function toE7(degrees: number): number {
  return Math.round(degrees * E7)
}

export function fromE7(degreesE7: number): number {
  return degreesE7 / E7
}

/** Converts km/h or volts to the stored integer, in thousandths. */
export function toMilli(value: number): number {
  return Math.round(value * MILLI)
}

export function fromMilli(thousandths: number): number {
  return thousandths / MILLI
}
