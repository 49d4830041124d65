import { DamagedError } from '#shared/errors.ts'

/**
 * Returns the result of a read, or null if a page is damaged, which the store reports: for data that a start can do
 * without.
 */
export function nullIfDamaged<Result>(read: () => Result): Result | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedError) return null
    throw error
  }
}
