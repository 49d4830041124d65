import { once } from 'node:events'
import { createServer } from 'node:net'

/** Returns a free port of 127.0.0.1, for programs that cannot report which one they chose. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('no free port')
  return address.port
}
