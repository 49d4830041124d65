import { hash } from 'node:crypto'

const REV_DIGITS = 16

/**
 * The revision of an entity: the same on both sides for the same body, as it crosses between them. `null` is the body of
 * one that is not there.
 */
export function entityRev(body: Readonly<Record<string, unknown>> | null): string {
  return hash('sha256', JSON.stringify(body), 'hex').slice(0, REV_DIGITS)
}
