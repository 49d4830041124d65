// cartbarn COMMAND: the entry of everything that is shipped. A command is loaded when it is called.

import { EXIT, processIo, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { readVersion } from '#shared/version.ts'

interface ProductCommand {
  name: string
  summary: string
  load: () => Promise<RunCommand>
  /** An open handle of a request that was given up must not keep the process. */
  endsAtOnce?: boolean
}

const COMMANDS: readonly ProductCommand[] = [
  { name: 'run', summary: 'start the gateway', load: async () => (await import('./run.ts')).run },
  {
    name: 'hub',
    summary: 'start the head office, or manage its sites',
    load: async () => (await import('./hub.ts')).hub,
  },
  {
    name: 'import',
    summary: 'add the tracks of files to the history of a device',
    load: async () => (await import('./import/run-import.ts')).runImport,
    endsAtOnce: true,
  },
  {
    name: 'export',
    summary: 'write the history of a device into a file',
    load: async () => (await import('./export/run-export.ts')).runExport,
  },
  {
    name: 'sync-export',
    summary: 'write what the head office lacks into a file',
    load: async () => (await import('./sync-file/run-export.ts')).runSyncExport,
  },
  {
    name: 'sync-import',
    summary: 'take a file of sync-export into the head office',
    load: async () => (await import('./sync-file/run-import.ts')).runSyncImport,
  },
  {
    name: 'simulate',
    summary: 'drive a simulated fleet against a gateway',
    load: async () => (await import('./simulate/simulate.ts')).simulate,
    endsAtOnce: true,
  },
  {
    name: 'demo',
    summary: 'start the gateway with a simulated course',
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    name: 'admin-key',
    summary: 'replace the key of the admin while the gateway is stopped',
    load: async () => (await import('./admin-key.ts')).adminKey,
  },
  {
    name: 'version',
    summary: 'print the version',
    load: async () => async (_argv, io) => {
      io.stdout.write(`${readVersion()}\n`)
      return EXIT.ok
    },
  },
]

/** Answers a command line that names no command. */
const explain: RunCommand = (argv, io) =>
  runCommand('cartbarn', io, async () => {
    const program = createCommandLine('', io)
      .description('The fleet gateway of a golf course.')
      .addHelpText('after', '\ncartbarn COMMAND --help prints the options of a command.')
      .version(readVersion(), '--version', 'print the version')
    for (const { name, summary } of COMMANDS) program.command(name).description(summary)
    parseCommandLine(program, argv.length === 0 ? ['--help'] : argv)
    return EXIT.ok
  })

const [name, ...argv] = process.argv.slice(2)
const command = COMMANDS.find((each) => each.name === name)
const run = (await command?.load()) ?? explain
process.exitCode = await run(command === undefined ? process.argv.slice(2) : argv, processIo())
if (command?.endsAtOnce) process.exit()
