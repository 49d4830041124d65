// cartbarn COMMAND: the entry point of everything that is shipped.

import { writeFileSync } from 'node:fs'
import { EXIT, processIo, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { readVersion } from '#shared/version.ts'
import { COMMANDS } from './product-commands.ts'

/** Commands that exit when done: an open handle of an abandoned request must not keep the process running. */
const END_AT_ONCE = ['import', 'simulate']

/** Handles a command line that names no command. */
const explain: RunCommand = (argv, io) =>
  runCommand('cartbarn', io, async () => {
    const program = createCommandLine('', io)
      .description('The fleet gateway of a golf course.')
      .addHelpText('after', '\ncartbarn COMMAND --help prints the options of a command.')
      .version(readVersion(), '--version', 'print the version')
    for (const [name, summary] of COMMANDS) program.command(name).description(summary)
    parseCommandLine(program, argv.length === 0 ? ['--help'] : argv)
    return EXIT.ok
  })

/** Names the process for ps and top, in place of its main thread; process.title would overwrite the command line. */
function nameProcess(): void {
  try {
    writeFileSync('/proc/self/comm', 'cartbarn')
  } catch {
    // another system
  }
}

/** Not awaited at the end of the file: the executable runs this as CommonJS. */
async function main(words: readonly string[]): Promise<void> {
  const [, , load] = COMMANDS.find(([name]) => name === words[0]) ?? []
  process.exitCode = await (load === undefined
    ? explain(words, processIo())
    : (await load())(words.slice(1), processIo()))
  if (END_AT_ONCE.includes(words[0] ?? '')) process.exit()
}

nameProcess()
// files that any command writes are readable only by their owner
process.umask(0o077)
void main(process.argv.slice(2))
