import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port of 127.0.0.1 that no program uses: for programs that cannot say which one they took. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('no free port')
  return address.port
}
