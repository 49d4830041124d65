/** Reason why a backup cannot be made, read or restored, as text for the operator of the gateway. */
export class BackupFault extends Error {}

/** Fault of a target that does not respond or refuses; its content is unknown. */
export class UnreachableFault extends BackupFault {}

/** Explains an error of the disk or the backup target to the operator; returns other errors unchanged. */
export function inWords(error: unknown, place: string): unknown {
  if (error instanceof BackupFault || !(error instanceof Error) || !('code' in error)) return error
  const problem = PROBLEMS.find(([codes]) => codes.test(String(error.code)))
  return problem === undefined ? error : new BackupFault(`${place}: ${problem[1]}`, { cause: error })
}

const PROBLEMS: readonly (readonly [codes: RegExp, text: string])[] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'the disk is full; free some space'],
  [/^(EROFS|EACCES|EPERM|SQLITE_READONLY|SQLITE_CANTOPEN)/, 'this user cannot write to it'],
  [/^(EIO|ENODEV|ENXIO|ESTALE|ENOTCONN)/, 'the disk does not respond; check that it is connected'],
  [/^(ENOENT|ENOTDIR)/, 'it does not exist'],
]
