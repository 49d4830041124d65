import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { eventually } from '#shared/testing/eventually.ts'

/** E-mail as received by a server. */
export interface ReceivedMail {
  from: string
  to: string[]
  /** Whole message with lines unfolded and its text decoded. */
  text: string
}

/** Real mail server that keeps received messages. */
export class Mailbox {
  readonly mails: ReceivedMail[] = []
  /** Response to a message; null accepts it. */
  refusal: string | null = null
  /** Value for CARTBARN_SMTP_URL. */
  url = ''
  #server: SMTPServer | undefined

  static async open(t: { after: (end: () => Promise<void>) => void }, port = 0): Promise<Mailbox> {
    const mailbox = new Mailbox()
    await mailbox.#listen(port)
    t.after(() => mailbox.close())
    return mailbox
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  async has(count: number, timeoutMs?: number): Promise<void> {
    await eventually(() => this.mails.length >= count, `${count} mails`, timeoutMs)
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())))
  }

  async #listen(port: number): Promise<void> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      onAuth: ({ username, password }, _session, done) => {
        if (username === 'barn' && password === 'p@ss') done(null, { user: username })
        else done(new Error('wrong password'))
      },
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', () => {
          if (this.refusal !== null) return done(new Error(this.refusal))
          const { mailFrom, rcptTo } = envelope
          const from = mailFrom === false ? '' : mailFrom.address
          const text = decoded(Buffer.concat(chunks).toString())
          this.mails.push({ from, to: rcptTo.map(({ address }) => address), text })
          done()
        })
      },
    })
    server.on('error', () => undefined)
    this.#server = server
    const listening = server.listen(port, '127.0.0.1')
    await once(listening, 'listening')
    // a listening TCP server has an address and a port
    const address = listening.address() as AddressInfo
    this.url = `smtp://127.0.0.1:${address.port}`
  }
}

function decoded(message: string): string {
  const end = message.indexOf('\r\n\r\n')
  const head = message
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .replace(/\?= =\?/g, '?==?')
    .replace(/=\?UTF-8\?B\?([^?]*)\?=/gi, (_, text: string) => Buffer.from(text, 'base64').toString())
    .replace(/=\?UTF-8\?Q\?([^?]*)\?=/gi, (_, text: string) => fromQuoted(text.replaceAll('_', ' ')))
  const body = message.slice(end + 4)
  if (/^content-transfer-encoding: base64/im.test(head)) return `${head}\n\n${Buffer.from(body, 'base64').toString()}`
  const isQuoted = /^content-transfer-encoding: quoted-printable/im.test(head)
  return `${head}\n\n${isQuoted ? fromQuoted(body.replace(/=\r\n/g, '')) : body}`
}

function fromQuoted(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
