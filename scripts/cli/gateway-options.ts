import { type CommandIo, UsageError } from './command.ts'
import { address, createCommandLine, number } from './command-line.ts'

/** Where the gateway is, and how long it may be away. */
export interface GatewayOptions {
  url: string
  apiKey: string
  retryForS: number
}

/** The options of a command that asks a gateway. */
export function createGatewayCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--url <url>', "the gateway's HTTP address", address('http:', 'https:'), 'http://127.0.0.1:8080')
    .option('--key <key>', 'an API key (environment: CARTBARN_API_KEY)')
}

/** The same, of a command that waits for a gateway that is away. */
export function createPatientCommandLine(name: string, io: CommandIo) {
  return createGatewayCommandLine(name, io)
    .option('--retry-for <s>', 'seconds to go on trying while the gateway is away', number(0, 1e9), 300)
    .option('--quiet', 'no progress')
}

/** The key that was given, or the one in the environment variable. Throws `UsageError` when there is none. */
export function requireKey(given: string | undefined, variable: string, env: CommandIo['env']): string {
  const key = given ?? env[variable] ?? ''
  if (key === '') throw new UsageError(`an API key is needed: --key or ${variable}`)
  return key
}
