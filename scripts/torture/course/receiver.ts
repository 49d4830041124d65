import { createServer, type IncomingMessage, type Server } from 'node:http'
import { z } from 'zod'

const bodySchema = z.looseObject({
  event: z.enum(['opened', 'acknowledged', 'closed', 'test']),
  alert: z.looseObject({ alert_id: z.string(), kind: z.string(), cart: z.string().nullable() }),
})

/** First delivery of a webhook event. */
export interface Delivery {
  deliveryId: string
  event: string
  alertId: string
  kind: string
  cart: string | null
}

/** Receives alerts and outlives the gateway; recognises a delivery repeated because its response was lost. */
export class WebhookReceiver {
  /** In the order of their first arrival. */
  readonly deliveries: Delivery[] = []
  repeated = 0
  readonly #known = new Set<string>()
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      this.#take(request).then(
        () => response.writeHead(204).end(),
        // the gateway was killed in the middle of a request
        () => response.destroy(),
      )
    })
  }

  /** Returns its URL. */
  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        const port = typeof address === 'object' && address !== null ? address.port : 0
        resolve(`http://127.0.0.1:${port}/`)
      })
    })
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** Number of alerts of a cart delivered with that event. */
  count(cart: string, kind: string, event: Delivery['event']): number {
    return this.deliveries.filter((each) => each.cart === cart && each.kind === kind && each.event === event).length
  }

  async #take(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { event, alert } = bodySchema.parse(JSON.parse(Buffer.concat(chunks).toString()))
    const deliveryId = String(request.headers['x-cartbarn-delivery'])
    if (this.#known.has(deliveryId)) {
      this.repeated += 1
      return
    }
    this.#known.add(deliveryId)
    const { alert_id: alertId, kind, cart } = alert
    this.deliveries.push({ deliveryId, event, alertId, kind, cart })
  }
}
