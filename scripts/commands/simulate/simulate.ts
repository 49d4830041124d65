import { type CommandIo, EXIT, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { Progress } from '#scripts/cli/progress.ts'
import { type Fleet, type FleetScreen, startFleet } from './fleet.ts'
import { parseOptions } from './options.ts'
import { isAboutSites, parseSitesOptions } from './sites/options.ts'
import { startSites } from './sites/sites.ts'

/** `cartbarn simulate`: simulates devices of a gateway, or sites of a hub, until the work is done or a signal. */
export const simulate: RunCommand = (argv, io) =>
  runCommand('simulate', io, async () => {
    const fleet = start(argv, io)
    // `done` reports failures
    io.signal.addEventListener('abort', () => void fleet.stop().catch(() => undefined))
    return (await fleet.done) === 'cut' ? EXIT.interrupted : EXIT.ok
  })

function start(argv: readonly string[], io: CommandIo): Fleet {
  if (isAboutSites(argv)) return startSites(parseSitesOptions(argv, io), screenOn(io))
  return startFleet(parseOptions(argv, io), screenOn(io))
}

function screenOn({ stdout, stderr }: CommandIo): FleetScreen {
  // it estimates the time left from its first line on
  let progress: Progress | undefined
  return {
    line: (text) => {
      progress?.end()
      stdout.write(`${text}\n`)
    },
    progress: (share, text) => {
      progress ??= new Progress(stderr, false)
      progress.show(share, text)
    },
  }
}
