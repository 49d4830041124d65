import { type CommandIo, pathFrom, UsageError } from '#scripts/cli/command.ts'
import { createCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { readSecretFile } from '#shared/files/secret-files.ts'

/** The options of what makes and reads backups. */
export function createBackupCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--data <dir>', 'the data folder [CARTBARN_DATA_DIR]')
    .option('--passphrase-file <file>', 'a file with the passphrase it is, or was, encrypted with')
    .option('--config <file>', 'settings from a JSON file; the environment wins')
    .option('--quiet', 'no progress')
}

/** The passphrase in a file, or undefined without one. Throws `UsageError`. */
export function passphraseIn(file: string | undefined, io: Pick<CommandIo, 'folder'>): string | undefined {
  if (file === undefined) return undefined
  try {
    return readSecretFile(pathFrom(io, file))
  } catch (error) {
    throw new UsageError(`--passphrase-file: ${describeError(error)}`)
  }
}

/** A size for people: 1,234 MB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: bytes < 1e7 ? 1 : 0 })} MB`
}
