import { resolve } from 'node:path'
import { replaceAdminKey } from '#gateway/offline/admin-key.ts'
import { CommandError, EXIT, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { actAsOwnerOf } from './data-owner.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** `cartbarn admin-key`: replaces the admin's key, for a user who may write the data folder. */
export const adminKey: RunCommand = (argv, io) =>
  runCommand('admin-key', io, async () => {
    const command = createSettingsCommandLine('admin-key', io).description(
      "Gives the oldest active admin of the gateway a new key and ends the admin's old key. On a terminal it " +
        'prints the ' +
        'key, else it writes it into admin-key.txt of the data folder. The gateway must be stopped, or never ' +
        'have run, and ' +
        'CARTBARN_DATA_DIR must be its data folder. As root it acts as the owner of that folder.',
    )
    const config = readSettings(parseCommandLine(command, argv).opts().config, io)
    actAsOwnerOf(config.dataDir)
    const replaced = await replaceAdminKey(config, io.stdout.isTTY === true).catch((error: unknown) => {
      throw new CommandError(describeError(error), { cause: error })
    })
    if ('key' in replaced) io.stdout.write(`${replaced.key}\n`)
    const place = 'key' in replaced ? 'This is' : `${resolve(replaced.path)} has, until its first use,`
    const { name, isFirst } = replaced
    const outcome = isFirst ? `the key of ${name}.` : `the new key of ${name}; the old one is no longer valid.`
    io.stderr.write(`${place} ${outcome}\n`)
    return EXIT.ok
  })
