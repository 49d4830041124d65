import { restoreHub } from '#hub/backup.ts'
import type { HubCommand } from '#hub/commands.ts'
import { describeHubSettings, readHubConfig } from '#hub/config.ts'
import { manageHub, runHub } from '#hub/main.ts'
import { citusStatements } from '#hub/store/database/schema.ts'
import { askHealth } from '#scripts/cli/ask-health.ts'
import {
  CommandError,
  type CommandIo,
  EXIT,
  pathFrom,
  type RunCommand,
  runCommand,
  UsageError,
} from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine, settingsHelp } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { originOf } from '#shared/http/request-local.ts'
import { systemClock } from '#shared/time.ts'

/** `cartbarn hub`: runs the hub until a signal, or executes one of its commands. */
export const hub: RunCommand = (argv, io) =>
  runCommand('hub', io, async () => {
    let work = () => runHub(readHubConfig(io.env), io.signal)
    const ask = (command: HubCommand) => {
      work = () => print(io, manageHub(readHubConfig(io.env), command))
    }
    const command = createCommandLine('hub', io)
      .description('Starts the hub, to which the gateways of many golf courses send their data.')
      .addHelpText('after', settingsHelp('the environment', describeHubSettings()))
    const site = command
      .command('site')
      .description('add, list or change sites; also while the hub runs')
      .helpCommand(false)
    site
      .command('add')
      .description('add a site and print the key of its gateway, once')
      .argument('<name>', 'the name of the site; in quotes if it has several words')
      .option('--id <id>', 'the id of the site; by default it is made of the name')
      .action((name, { id }) => ask({ action: 'add', name, id }))
    site
      .command('list')
      .description('list all sites')
      .action(() => ask({ action: 'list' }))
    site
      .command('rotate')
      .description('revoke the keys of a site and print a new key')
      .argument('<id>')
      .action((id) => ask({ action: 'rotate', id }))
    site
      .command('revoke')
      .description('revoke the keys of a site')
      .argument('<id>')
      .action((id) => ask({ action: 'revoke', id }))
    command
      .command('admin-key')
      .description(
        "give the oldest active admin a new key and end the admin's old key: printed on a terminal, else written " +
          'into admin-key.txt of the data folder; also while the hub runs',
      )
      .action(() => ask({ action: 'admin-key', isShown: io.stdout.isTTY === true }))
    command
      .command('health')
      .description('ask the running hub whether it is well; ends with 0 if so')
      .action(() => {
        work = () => {
          const { host, port, tls } = readHubConfig(io.env)
          return askHealth(originOf(host, port, tls !== undefined), io)
        }
      })
    command
      .command('backup')
      .description('write the embedded database into a new file; also while the hub runs')
      .argument('<file>')
      .action((file) => ask({ action: 'backup', path: pathFrom(io, file) }))
    command
      .command('restore')
      .description(
        'replace the embedded database with that of a backup; the old one is kept next to it; the ' +
          'hub must be stopped',
      )
      .argument('<file>')
      .action((file) => {
        work = () => {
          const { databaseUrl, dataDir } = readHubConfig(io.env)
          if (databaseUrl !== undefined)
            throw new CommandError('the hub is on PostgreSQL: restore that with its own tools, see docs/hub.md')
          return print(io, restoreHub(dataDir, pathFrom(io, file), systemClock.nowMs()))
        }
      })
    command
      .command('citus')
      .description('print the SQL that spreads the tables over a Citus cluster')
      .action(() => {
        work = () => print(io, Promise.resolve(citusStatements().join('')))
      })
    // set after adding the commands, which would inherit it
    command.allowExcessArguments().action((_options, { args: [word] }) => {
      if (word !== undefined) throw new UsageError(`there is no command ${word}`)
    })
    parseCommandLine(command, argv)
    return work()
  })

async function print({ stdout }: CommandIo, text: Promise<string>): Promise<number> {
  try {
    stdout.write(await text)
    return EXIT.ok
  } catch (error) {
    throw new CommandError(describeError(error), { cause: error })
  }
}
