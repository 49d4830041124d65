import { parseArgs } from 'node:util'
import { type CommandIo, UsageError } from './command.ts'

/** Where the gateway is, and how long it may be away. */
export interface GatewayOptions {
  url: string
  apiKey: string
  retryForS: number
}

export const GATEWAY_OPTIONS = {
  url: { type: 'string', default: 'http://127.0.0.1:8080' },
  key: { type: 'string' },
  'retry-for': { type: 'string', default: '300' },
  quiet: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

export const GATEWAY_HELP = `  --url URL           the gateway's HTTP address (http://127.0.0.1:8080)
  --key KEY           an API key (environment: CARTBARN_API_KEY)
  --retry-for S       how long to go on trying while the gateway is away (300)
  --quiet             no progress
  --help              this text
`

interface GivenOptions {
  url: string
  key?: string | undefined
  'retry-for': string
}

export function gatewayOptions(given: GivenOptions, env: CommandIo['env']): GatewayOptions {
  const url = URL.parse(given.url)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`--url must be an address such as http://127.0.0.1:8080, not "${given.url}"`)
  const apiKey = given.key ?? env.CARTBARN_API_KEY ?? ''
  if (apiKey === '') throw new UsageError('an API key is needed: --key or CARTBARN_API_KEY')
  const retryForS = Number(given['retry-for'])
  if (!(retryForS >= 0 && given['retry-for'].trim() !== ''))
    throw new UsageError(`--retry-for must be seconds, not "${given['retry-for']}"`)
  return { url: url.href.replace(/\/+$/, ''), apiKey, retryForS }
}

/** `parseArgs`, whose complaints are for the person who typed. */
export const parseCommandLine: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(message.split(/\. |\n/)[0] ?? message)
  }
}

/** One of a few words. Throws `UsageError`, with the words. */
export function choice<Choice extends string>(
  name: string,
  text: string,
  choices: readonly Choice[],
): Choice {
  const chosen = choices.find((one) => one === text)
  if (chosen === undefined) throw new UsageError(`--${name} must be ${choices.join(', ')}, not "${text}"`)
  return chosen
}
