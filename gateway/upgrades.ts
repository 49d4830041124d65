import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { KeyGuard } from '#services/people/key-guard.ts'
import type { Login } from '#services/people/login.ts'
import type { UnencryptedClients } from '#services/unencrypted-clients.ts'
import { AppError, describeError, InvalidRequestError, NotFoundError, UnauthenticatedError } from '#shared/errors.ts'
import type { ClientAddresses } from '#shared/http/client-address.ts'
import { refuseConnection } from '#shared/http/connections/raw-refusal.ts'
import { ownOriginOf, requireOwnOrigin } from '#shared/http/own-origin.ts'
import { sessionTokenIn } from '#shared/http/session-cookie.ts'
import type { Log } from '#shared/log.ts'

export interface UpgradeDeps {
  keyGuard: KeyGuard
  realtime: {
    accept(request: IncomingMessage, socket: Duplex, head: Buffer, login: Login, address: string): void
    acceptOver(request: IncomingMessage, socket: Duplex, head: Buffer): void
    acceptUnknown(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void
  }
  webSockets: { upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void }
  addresses: ClientAddresses
  /** Undefined without TLS. */
  plainHttp: UnencryptedClients | undefined
  log: Log
}

/**
 * Routes WebSocket requests: `/realtime` with a key or a session, or with a key in the first message, and `/mqtt`;
 * anything else gets an HTTP error.
 */
export function createUpgradeHandler({ keyGuard, realtime, webSockets, addresses, plainHttp, log }: UpgradeDeps) {
  /** Returns undefined for an ended session. With a key, a cookie and the origin of the page are ignored. */
  function loginOf(request: IncomingMessage, apiKey: string | undefined, address: string): Login | undefined {
    const token = apiKey === undefined ? sessionTokenIn(request.headers.cookie) : undefined
    if (token === undefined) return keyGuard.admit(apiKey, address)
    requireOwnOrigin(request.headers.origin, ownOriginOf(addresses, request))
    try {
      return keyGuard.admitSession(token)
    } catch (error) {
      if (error instanceof UnauthenticatedError) return undefined
      throw error
    }
  }

  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy())
    try {
      const url = URL.parse(request.url ?? '/', 'http://localhost')
      if (url === null) throw new InvalidRequestError('invalid_request', 'bad upgrade request')
      const { pathname, searchParams } = url
      const path = pathname.replace(/\/$/, '')
      if (path === '/realtime') {
        const apiKey = request.headers['x-api-key']?.toString() ?? searchParams.get('api_key') ?? undefined
        const address = addresses.ofRequest(request)
        // only on explicit request: a client that forgot its key gets 401 before a socket is opened
        if (apiKey === undefined && searchParams.get('authenticate') === 'message')
          realtime.acceptUnknown(request, socket, head, address)
        else {
          const login = loginOf(request, apiKey, address)
          if (login === undefined) realtime.acceptOver(request, socket, head)
          else {
            if (!('encrypted' in request.socket)) plainHttp?.noteLogin(login, address)
            realtime.accept(request, socket, head, login, address)
          }
        }
      } else if (path === '/mqtt') {
        webSockets.upgrade(request, socket, head, addresses.ofRequest(request))
      } else {
        throw new NotFoundError('not_found', 'there is no WebSocket here')
      }
    } catch (error) {
      // never log the request itself: its URL may contain a key
      if (!(error instanceof AppError))
        log.error({ reason: describeError(error) }, 'upgrading a connection to WebSocket failed')
      refuseConnection(
        socket,
        error instanceof AppError ? error : new AppError('invalid', 'invalid_request', 'bad upgrade request'),
      )
    }
  }
}
