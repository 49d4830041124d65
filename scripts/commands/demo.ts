import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Config } from '#gateway/config.ts'
import { type RunningGateway, runGateway } from '#gateway/main.ts'
import { type CommandIo, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { startCommand } from '#scripts/cli/start-command.ts'
import type { Part } from '#shared/lifecycle.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** How long the simulated devices may take to disconnect. */
const STOP_MS = 3_000

/** `cartbarn demo`: the gateway with a simulated course, until a signal. */
export const demo: RunCommand = (argv, io) =>
  runCommand('demo', io, async () => {
    const command = createSettingsCommandLine('demo', io).description(
      'Starts the gateway of a golf course, with simulated carts that drive on it.',
    )
    return runDemo(readSettings(parseCommandLine(command, argv).opts().config, io), io)
  })

export function runDemo(config: Config, { env, signal }: CommandIo): Promise<number> {
  return runGateway(config, signal, (gateway) => {
    const adminKey = gateway.newAdminKey ?? config.adminApiKey
    if (adminKey === undefined)
      throw new Error(
        'the demo needs the admin key: set CARTBARN_ADMIN_API_KEY, or use an empty CARTBARN_DATA_DIR',
      )
    return new SimulatedCourse(gateway, { ...env, CARTBARN_ADMIN_API_KEY: adminKey })
  })
}

/** The simulator in a process of its own, like real devices. */
class SimulatedCourse implements Part {
  readonly #addresses: RunningGateway['addresses']
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | undefined

  constructor({ addresses }: RunningGateway, env: NodeJS.ProcessEnv) {
    this.#addresses = addresses
    this.#env = env
  }

  async start(): Promise<void> {
    const { http, mqtt, mqtts } = this.#addresses
    const broker = mqtt ?? mqtts
    // to its own gateway over the loopback, which the certificate need not name
    const trust = http.startsWith('https:')
      ? { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }
      : {}
    const argv = ['--url', http, ...(broker === undefined ? [] : ['--mqtt', broker])]
    this.#child = startCommand('simulate', argv, { ...this.#env, ...trust })
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await Promise.race([once(child, 'exit'), once(AbortSignal.timeout(STOP_MS), 'abort')])
  }
}
