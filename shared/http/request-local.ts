import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isEveryAddress } from '#shared/budgets/listen.ts'

const TIMEOUT_MS = 5_000
const MAX_CHARACTERS = 8_000_000

export interface LocalResponse {
  status: number
  text: string
}

/** Origin under which this computer reaches a listener on one of its own addresses. */
export function originOf(host: string, port: number, isTls: boolean): string {
  const name = isEveryAddress(host) ? '127.0.0.1' : host
  return `${isTls ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Sends a request to a program on this computer, whose certificate need not cover that address; null if unanswered. */
export function requestLocal(url: string, key?: string): Promise<LocalResponse | null> {
  const { promise, resolve } = Promise.withResolvers<LocalResponse | null>()
  const headers = key === undefined ? {} : { 'x-api-key': key }
  const options = { headers, timeout: TIMEOUT_MS, rejectUnauthorized: false, agent: false as const }
  const request = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      if (text.length > MAX_CHARACTERS) request.destroy()
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    response.on('error', () => resolve(null))
  })
  request.on('timeout', () => request.destroy())
  request.on('error', () => resolve(null))
  request.end()
  return promise
}
