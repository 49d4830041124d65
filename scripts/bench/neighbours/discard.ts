import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { answerCalls } from '#scripts/rig/calls.ts'

/** The process of a port that accepts, reads and discards: what a neighbour costs this machine and not the gateway. */

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

/** What the port does when its parent asks. */
export type DiscardFunctions = typeof functions
