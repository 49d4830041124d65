const E7 = 1e7
const MILLI = 1e3

/**
 * Degrees as the integer that is stored: 1e-7 degree, 1.1 cm at the equator.
 * A decimal of at most 7 digits comes back the same through `fromE7`.
 */
export function toE7(degrees: number): number {
  return Math.round(degrees * E7)
}

export function fromE7(degreesE7: number): number {
  return degreesE7 / E7
}

/** Speed in km/h or voltage in volts as the integer that is stored: thousandths. */
export function toMilli(value: number): number {
  return Math.round(value * MILLI)
}

export function fromMilli(thousandths: number): number {
  return thousandths / MILLI
}
