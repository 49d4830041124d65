import { backupPlaceOf } from '#gateway/offline/backup-places.ts'
import { backUp } from '#gateway/offline/backups.ts'
import { EXIT, pathFrom, type RunCommand, runCommand, UsageError } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { grouped } from '#scripts/cli/progress.ts'
import { systemClock } from '#shared/time.ts'
import { createBackupCommandLine, inWords, megabytes, passphraseIn } from './backup-options.ts'
import { readSettings } from './gateway-settings.ts'

/** `cartbarn backup`: copies the database into a file or a folder, while the gateway is running or stopped. */
export const backup: RunCommand = (argv, io) =>
  runCommand('backup', io, async () => {
    const command = createBackupCommandLine('backup', io)
      .argument(
        '<target>',
        'a new file; or a folder or s3://BUCKET/PREFIX, which keep many backups and receive only new data',
      )
      .description(
        'Backs up the database of the gateway, which may be running. It compresses what it writes, reads it ' +
          'again and ' +
          'counts it. A folder under /media or /mnt must be on a disk that is mounted. A bucket is used as ' +
          'CARTBARN_BACKUP_S3_... ' +
          'say.',
      )
      .option('--keep <n>', 'of a folder or bucket: delete all but the newest n backups')
      .option('--require-mount', 'refuse a folder that is not on a disk of its own')
    const parsed = parseCommandLine(command, argv)
    const { data, passphraseFile, config, keep, requireMount = false, quiet } = parsed.opts()
    const [target] = parsed.processedArgs
    const passphrase = passphraseIn(passphraseFile, io)
    const dataDir = pathFrom(io, data ?? readSettings(config, io).dataDir)
    const made = await inWords(() =>
      backUp({
        dataDir,
        to: backupPlaceOf(target, 'write', {
          folder: io.folder,
          mustBeMounted: requireMount,
          dataDir,
          readS3: () => readSettings(config, io).backupS3,
        }),
        passphrase,
        keep: keepOf(keep),
        atMs: systemClock.nowMs(),
        isGentle: true,
      }),
    )
    if (quiet) return EXIT.ok
    const { rows, newBytes, totalBytes, number, removed, isEncrypted, lacks } = made
    const lines = [
      `Backup ${number} is in ${target}: ${grouped(rows)} rows, ${megabytes(totalBytes)}, of which ` +
        `${megabytes(newBytes)} are new. It was read again and counted.`,
      ...(removed === 0 ? [] : [`${removed} older backups were deleted.`]),
      ...(isEncrypted ? [] : ['It is not encrypted: anyone with the file can read it, including keys of devices.']),
      'It does not contain:',
      ...lacks.map((what) => `  ${what}`),
    ]
    io.stdout.write(`${lines.join('\n')}\n`)
    return EXIT.ok
  })

function keepOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const keep = Number(text)
  if (!Number.isInteger(keep) || keep < 1 || keep > 10_000)
    throw new UsageError('--keep: must be a whole number from 1 to 10000')
  return keep
}
