import { DamagedError } from '#shared/errors.ts'

/** What is read, or null where a page is damaged, which the store says: for what a start can do without. */
export function nullIfDamaged<Result>(read: () => Result): Result | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedError) return null
    throw error
  }
}
