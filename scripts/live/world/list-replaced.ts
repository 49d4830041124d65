// Prints the functions of Node that an installed world has replaced, as JSON.
import { builtinModules } from 'node:module'
import { createRandom } from '#shared/random.ts'
import { installHost } from './host.ts'
import { Lines } from './lines.ts'
import { installThreads } from './threads.ts'
import { VirtualTime } from './virtual-time.ts'

const modules = builtinModules.filter((name) => !/^_|:|^(inspector|sys|trace_events|wasi)/.test(name))
const functionsOf = async (name: string) => ({ ...(await import(`node:${name}`)).default })
const before = new Map<string, Record<string, unknown>>()
for (const name of modules) before.set(name, await functionsOf(name))
const time = new VirtualTime(0)
const random = createRandom(1, 'product')
time.install()
installHost(random)
installThreads({ time, random, edits: [] })
new Lines(time, () => undefined).install()
const replaced: string[] = []
for (const [name, functions] of before)
  for (const [part, value] of Object.entries(await functionsOf(name)))
    if (value !== functions[part]) replaced.push(`node:${name} ${part}`)
process.stdout.write(JSON.stringify(replaced), () => process.exit())
