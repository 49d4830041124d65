/** Kind of damage to a telemetry block; stable, for logs and counters. */
export type DamageReason =
  /** Not a telemetry block at all. */
  | 'not_a_block'
  /** Shorter or longer than its header states. */
  | 'wrong_length'
  | 'wrong_checksum'
  /** The checksum is correct, so a faulty or hostile program wrote it like this. */
  | 'impossible_content'
  /** The page of its row is unreadable, so its number of records is unknown. */
  | 'unreadable_page'

/** The bytes of a telemetry block have changed since it was written. Everything decoded from it so far is invalid. */
export class DamagedBlockError extends Error {
  readonly reason: DamageReason

  constructor(reason: DamageReason, message: string) {
    super(`damaged telemetry block: ${message}`)
    this.name = 'DamagedBlockError'
    this.reason = reason
  }
}

/** The block is intact, but in a format that this program does not know yet: an older program reads newer data. */
export class NewerBlockError extends Error {
  readonly version: number

  constructor(version: number, newestKnown: number) {
    super(`telemetry block of version ${version}; this program reads versions up to ${newestKnown}`)
    this.name = 'NewerBlockError'
    this.version = version
  }
}
