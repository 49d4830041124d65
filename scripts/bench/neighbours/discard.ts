import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { answerCalls } from '#scripts/rig/calls.ts'

/** Process of a port that accepts, reads and discards: the cost of a noisy client without the gateway. */

async function listen(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // it listens on TCP
  return (server.address() as AddressInfo).port
}

const functions = answerCalls({ listen })

export type DiscardFunctions = typeof functions
