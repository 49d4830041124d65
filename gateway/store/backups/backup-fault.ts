/** Why a backup cannot be made, read or put back, in words for the person who runs the gateway. */
export class BackupFault extends Error {}

/** The place does not answer, or refuses: that tells nothing of what is in it. */
export class UnreachableFault extends BackupFault {}

/** The disk or the place of a backup said no: what that means for a person. */
export function inWords(error: unknown, place: string): unknown {
  if (error instanceof BackupFault || !(error instanceof Error) || !('code' in error)) return error
  const problem = PROBLEMS.find(([codes]) => codes.test(String(error.code)))
  return problem === undefined ? error : new BackupFault(`${place}: ${problem[1]}`, { cause: error })
}

const PROBLEMS: readonly (readonly [codes: RegExp, text: string])[] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'the disk is full; free some space'],
  [/^(EROFS|EACCES|EPERM|SQLITE_READONLY|SQLITE_CANTOPEN)/, 'it cannot be written by this user'],
  [/^(EIO|ENODEV|ENXIO|ESTALE|ENOTCONN)/, 'the disk does not answer; was it pulled out?'],
  [/^(ENOENT|ENOTDIR)/, 'it is not there'],
]
