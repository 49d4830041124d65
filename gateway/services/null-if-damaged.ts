import { DamagedError } from '#shared/errors.ts'

/** Returns the result of a read, null if a page is damaged, which the store reports: for data not needed to start. */
export function nullIfDamaged<Result>(read: () => Result): Result | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedError) return null
    throw error
  }
}
