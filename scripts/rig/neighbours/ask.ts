import { request } from 'node:http'

/** Address of clients that are not noisy. */
export const OWN_ADDRESS = '127.0.0.1'
/** Timeout, not a promised limit: a request without a response by then never gets one. */
export const TIMEOUT_MS = 20_000

/** Status of a response, or the reason for its absence. */
export type Outcome = number | 'cut off' | 'no answer'

/** Sends a GET on a connection of its own, from one of the addresses of this machine; without a key if it is empty. */
export function ask({
  key,
  ...options
}: {
  port: number
  path: string
  key: string
  localAddress: string
}): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const headers = key === '' ? {} : { 'X-API-Key': key }
  const asking = request({ host: '127.0.0.1', agent: false, headers, ...options })
  const timer = setTimeout(() => {
    resolve('no answer')
    asking.destroy()
  }, TIMEOUT_MS)
  asking.on('error', () => resolve('cut off'))
  asking.on('response', (response) => {
    response.on('error', () => resolve('cut off'))
    response.on('end', () => resolve(response.statusCode ?? 'cut off'))
    response.on('close', () => resolve('cut off'))
    response.resume()
  })
  asking.end()
  return promise.finally(() => clearTimeout(timer))
}
