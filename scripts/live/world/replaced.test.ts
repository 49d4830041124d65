import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const LIST = fileURLToPath(new URL('list-replaced.ts', import.meta.url))

/** What the product imports from Node and a world leaves as it is, by the reason; a module's name for all its parts. */
const LEFT: Readonly<Record<string, string>> = {
  'computes, and waits for nothing':
    'async_hooks buffer events module path sea stream stream/consumers tty url util X509Certificate createCipheriv ' +
    'createDecipheriv createHash createHmac createPrivateKey createPublicKey hash sign timingSafeEqual verify ' +
    'STATUS_CODES ServerResponse constants BlockList isIP isIPv6 createSecureContext crc32',
  'connects and listens by node:net, whose sockets and servers are replaced': 'http Socket createServer',
  'facts of the host that no response depends on': 'arch cpus platform release tmpdir totalmem userInfo uptime',
  'of a thread, whose code becomes a function':
    'getEnvironmentData setEnvironmentData isMainThread parentPort workerData',
  'not simulated: programs of the system, multicast, names, TLS': 'execFile dgram lookup https',
}

/** Returns what the product imports from Node, such as `node:zlib gzip`, with a file. */
function importsOfProduct(): Map<string, string> {
  const files = globSync('{gateway,cloud-sync,shared}/**/*.ts', { cwd: ROOT })
  const found = new Map<string, string>()
  for (const file of files.filter((one) => !/\.test\.ts$|\/testing\/|\/dashboard\//.test(one)))
    for (const match of readFileSync(join(ROOT, file), 'utf8').matchAll(/^import \{([^}]*)\} from '(node:[^']+)'/gm))
      for (const part of (match[1] ?? '').split(',').map((one) => one.trim()))
        if (part !== '' && !part.startsWith('type ')) found.set(`${match[2]} ${part.split(' as ')[0]}`, file)
  return found
}

test('whatever the product takes from Node is replaced, or left for a reason', () => {
  const replaced: string[] = JSON.parse(
    execFileSync(process.execPath, ['--no-deprecation', LIST], { encoding: 'utf8' }),
  )
  assert.ok(replaced.includes('node:timers setTimeout'))
  const imported = importsOfProduct()
  const left = Object.values(LEFT).flatMap((names) => names.split(' '))
  const used = new Set<string>()
  const isLeft = (one: string) => {
    const [module = '', part = ''] = one.replace('node:', '').split(' ')
    const known = left.filter((name) => name === module || name === part)
    for (const name of known) used.add(name)
    return known.length > 0
  }
  // a synchronous function has no order of its own
  const unknown = [...imported].filter(([one]) => !isLeft(one) && !replaced.includes(one) && !one.endsWith('Sync'))
  assert.deepEqual(unknown, [])
  assert.deepEqual(
    left.filter((name) => !used.has(name)),
    [],
    'a reason for nothing',
  )
})
