import type { CommandIo } from '#scripts/cli/command.ts'
import {
  address,
  createCommandLine,
  matching,
  number,
  parseCommandLine,
  wholeNumber,
} from '#scripts/cli/command-line.ts'
import { KEY_VARIABLE, requireKey } from '#scripts/cli/gateway-options.ts'

export interface SitesOptions {
  readonly hubUrl: string
  /** Admin key that creates the sites at the hub, or the keys of existing sites. */
  readonly access: { readonly adminKey: string } | { readonly keysFile: string }
  readonly sites: number
  /** Number per site. */
  readonly devices: number
  readonly intervalS: number
  /** Undefined: until it is stopped. */
  readonly durationS: number | undefined
  readonly seed: number
  readonly prefix: string
  readonly sockets: number
  /** True if keys may be sent unencrypted to other machines. */
  readonly isInsecureAllowed: boolean
}

/** True if a command line is about sites of a hub, not about devices of a gateway. */
export function isAboutSites(argv: readonly string[]): boolean {
  return argv.some((word) => word === '--sites' || word.startsWith('--sites='))
}

/** Reads the command line. Throws `UsageError`. */
export function parseSitesOptions(
  argv: readonly string[],
  io: Pick<CommandIo, 'env' | 'folder' | 'stdout'>,
): SitesOptions {
  const command = createCommandLine('simulate', io)
    .description('Simulates the gateways of many sites that replicate to one hub.')
    .requiredOption('--sites <n>', 'sites', wholeNumber(1, 2000))
    .option('--hub <url>', "the hub's address", address('http:', 'https:'), 'http://127.0.0.1:8090')
    .option(
      '--key <key>',
      `an admin's key of the hub: sites are made there, or get a new key (environment: ${KEY_VARIABLE})`,
    )
    .option('--key-file <file>', 'instead: the file that holds it')
    .option('--keys-file <file>', 'instead: site keys that are there already, one in a line')
    .option('--devices <n>', 'devices of each site; each reports once a second', wholeNumber(1, 1000), 20)
    .option('--interval <s>', 'seconds of samples in a push, at most 20,000 samples', wholeNumber(1, 3600), 8)
    .option('--duration <s>', 'stop after this many seconds (by default at Ctrl-C)', number(1, 1e9))
    .option('--seed <n>', 'another seed is other carts', wholeNumber(0), 1)
    .option(
      '--prefix <text>',
      'first part of every site id',
      matching(/^[a-z0-9-]{1,26}$/, '1 to 26 lower-case letters, digits or dashes'),
      'sim',
    )
    .option('--sockets <n>', 'connections to the hub at a time', wholeNumber(1, 1000), 64)
    .option('--insecure', 'send keys over plain HTTP to other machines')
  const { hub, key, keyFile, keysFile, interval, duration, insecure, ...given } = parseCommandLine(command, argv).opts()
  return {
    ...given,
    hubUrl: hub,
    access: keysFile === undefined ? { adminKey: requireKey({ key, keyFile }, io) } : { keysFile },
    intervalS: interval,
    durationS: duration,
    isInsecureAllowed: insecure ?? false,
  }
}
