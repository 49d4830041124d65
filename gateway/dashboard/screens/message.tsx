import { useEffect, useRef, useState } from 'preact/hooks'
import { type CommandProgress, randomKey } from '#dashboard/live/commands.ts'
import { byNumber, isParked } from '#dashboard/live/fleet/marker-style.ts'
import { lockDeviceOf, screenOf } from '#dashboard/live/safe-lock.ts'
import { cartActionTexts, messageTexts } from '#dashboard/texts/cart-actions.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { ReadyTexts } from '#dashboard/ui/ready-texts.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { CartJson } from '#shared/wire/carts.ts'
import type { MessageJson } from '#shared/wire/messages/messages.ts'
import type { ReadyTextJson } from '#shared/wire/messages/texts.ts'
import { useRounds } from './pace/use-rounds.ts'

export const MESSAGE_MAX = 200
const ALL_OUT = 'all-out'
/** No message reports screens that connect. */
const ASK_EVERY_MS = 5_000

interface MessageDialogProps {
  /** Carts of the message; absent if they are chosen in the dialog: all that are out, or those on a hole. */
  carts?: readonly string[]
  onClose: () => void
}

/** Dialog for a message to the screens of carts; once it is sent, the dialog shows which carts have read it. */
export function MessageDialog({ carts, onClose }: MessageDialogProps) {
  const [sent, setSent] = useState<MessageJson | null>(null)
  const title = carts === undefined ? mapTexts().message : messageTexts().messageTo(carts)
  if (sent !== null) return <SentMessage title={title} first={sent} onClose={onClose} />
  return <NewMessage title={title} carts={carts} onClose={onClose} onSent={setSent} />
}

interface NewMessageProps {
  title: string
  carts: readonly string[] | undefined
  onClose: () => void
  onSent: (message: MessageJson) => void
}

/** A ready text with one tap, or a typed one, and who gets it; named carts without a screen are offered a beep. */
function NewMessage({ title, carts, onClose, onSent }: NewMessageProps) {
  const { api, commands, screenTypes, settings, site } = useDashboard()
  const texts = messageTexts()
  const [text, setText] = useState('')
  const [ready, setReady] = useState<readonly ReadyTextJson[]>([])
  // a text can be typed without them
  useEffect(() => void api.call('GET /texts').then(setReady, () => undefined), [api])
  const { chosen, to, chooser } = useRecipients(carts)
  const language = settings.value?.language ?? site.value.language
  // a text that is sent again after a lost answer goes out once
  const keys = useRef(new Map<string, string>()).current
  const send = async (wanted: { text: string } | { text_id: string; language: typeof language }) => {
    const body = { ...wanted, to }
    const text = JSON.stringify(body)
    const key = keys.get(text) ?? randomKey()
    keys.set(text, key)
    onSent(await api.call('POST /messages', { body, headers: { 'Idempotency-Key': key } }))
  }
  const sendReady = async (chip: string) => {
    const one = ready.find((known) => known[language] === chip)
    if (one !== undefined) await send({ text_id: one.text_id, language })
  }
  const chips = (isUrgent: boolean) => ready.filter((one) => one.is_urgent === isUrgent).map((one) => one[language])
  const without = chosen.filter((cart) => screenOf(cart, screenTypes.value) === undefined).length
  const recipients = texts.recipients(chosen.length, without)
  if (without === chosen.length) {
    const beeps = (carts === undefined ? [] : chosen).flatMap((cart) => {
      const lock = lockDeviceOf(cart)
      return lock === undefined ? [] : [{ cart: cart.cart, hardwareId: lock.hardware_id, params: { beep: true } }]
    })
    const beep = () => {
      for (const one of beeps) commands.send({ ...one, command: 'locate' })
      onClose()
    }
    const { beep: action } = cartActionTexts()
    return (
      <Question title={title} action={action} isReady={beeps.length > 0} onCancel={onClose} onAnswer={beep}>
        {chooser}
        <p>{texts.noScreen}</p>
      </Question>
    )
  }
  return (
    <Question
      title={title}
      action={texts.send}
      isReady={text.trim() !== ''}
      refusal={refusalText}
      onCancel={onClose}
      onAnswer={() => send({ text: text.trim() })}
    >
      {chooser}
      <p role="status">{recipients}</p>
      {ready.length > 0 && (
        <ReadyTexts name={texts.quick} urgent={chips(true)} texts={chips(false)} onChosen={sendReady} />
      )}
      <TextField
        name={texts.text}
        hint={texts.left(MESSAGE_MAX - text.length)}
        max={MESSAGE_MAX}
        isLong
        value={text}
        onInput={setText}
      />
    </Question>
  )
}

/** Carts of a message, by the rules of the gateway; without `carts` also the field to choose them with. */
function useRecipients(carts: readonly string[] | undefined) {
  const { fleet } = useDashboard()
  const texts = messageTexts()
  const [choice, setChoice] = useState(ALL_OUT)
  const { known: rounds } = useRounds(carts === undefined)
  const known = fleet.version.value >= 0 ? [...fleet.carts.values()].sort(byNumber) : []
  if (carts !== undefined)
    return { chosen: known.filter(({ cart }) => carts.includes(cart)), to: { carts: [...carts] }, chooser: null }
  const golfCarts = known.filter(({ kind }) => kind === 'golf_cart')
  const holesOf = ({ cart, zones }: CartJson) => [
    ...zones.flatMap(({ type, hole }) => (type === 'hole' && hole != null ? [hole] : [])),
    ...(rounds ?? []).flatMap((round) => (round.cart === cart ? (round.current_hole ?? []) : [])),
  ]
  const holes = new Set([...golfCarts.flatMap(holesOf), ...(choice === ALL_OUT ? [] : [Number(choice)])])
  const options = new Map([
    [ALL_OUT, texts.allOut],
    ...[...holes].sort((a, b) => a - b).map((hole) => [String(hole), fleetTexts().places.hole(hole)] as const),
  ])
  const isOut = (cart: CartJson) => cart.position !== null && !isParked(cart) && cart.out_of_service === null
  return {
    chosen: golfCarts.filter(choice === ALL_OUT ? isOut : (cart) => holesOf(cart).includes(Number(choice))),
    to: choice === ALL_OUT ? { all_out: true as const } : { hole: Number(choice) },
    chooser: <SelectField name={texts.to} value={choice} options={options} onChoose={setChoice} />,
  }
}

/** Sent message, and which carts have read it. */
function SentMessage({ title, first, onClose }: { title: string; first: MessageJson; onClose: () => void }) {
  const dashboard = useDashboard()
  const { api, line, site } = dashboard
  const texts = messageTexts()
  const [{ text, carts, expires_at }, setMessage] = useState(first)
  const { message_id } = first
  const isLive = line.state.value.kind === 'live'
  useEffect(
    () =>
      dashboard.listen((news) => {
        if (news.type === 'message' && news.message.message_id === message_id) setMessage(news.message)
      }),
    [],
  )
  useEffect(() => {
    if (!isLive) return
    const ask = () => api.call('GET /messages/{id}', { path: { id: message_id } }).then(setMessage, () => undefined)
    const timer = setInterval(() => void ask(), ASK_EVERY_MS)
    return () => clearInterval(timer)
  }, [isLive])
  const inState = (state: MessageJson['carts'][number]['screen']) =>
    carts.flatMap(({ cart, screen }) => (screen === state ? [cart] : []))
  const [read, waiting, away, without] = [inState('confirmed'), inState('sent'), inState('offline'), inState('none')]
  const until = formatTime(Date.parse(expires_at), site.value.time_zone)
  return (
    <Dialog title={title} onCancel={onClose}>
      <p dir="auto">“{text}”</p>
      <p role="status">
        <strong>{texts.readBy(read.length, carts.length - without.length)}</strong>
      </p>
      {waiting.length > 0 && <p dir="auto">{texts.notRead(waiting)}</p>}
      {away.length > 0 && <p dir="auto">{texts.away(away, until)}</p>}
      {without.length > 0 && <p dir="auto">{texts.withoutScreen(without)}</p>}
      <div class="dialog-buttons">
        <Button text={texts.close} is="main" onClick={onClose} />
      </div>
    </Dialog>
  )
}

/** Messages and beeps to several carts: `ask` opens the dialog, and `status` shows what became of the beeps. */
export function useMessages() {
  const [carts, ask] = useState<readonly string[] | null>(null)
  const [sent, show] = useState<readonly CommandProgress[]>([])
  const status = (
    <>
      <SentStatus sent={sent} />
      {carts !== null && <MessageDialog carts={carts} onClose={() => ask(null)} />}
    </>
  )
  return { ask, show, status }
}

/** Number of carts that have confirmed their command, and those that failed. */
function SentStatus({ sent }: { sent: readonly CommandProgress[] }) {
  const texts = messageTexts()
  const inStage = (kind: string) => sent.filter(({ stage }) => stage.value.kind === kind)
  const failed = inStage('failed').map(({ wanted }) => wanted.cart)
  return (
    <p role="status" class={sent.length === 0 ? 'visually-hidden' : ''} dir="auto">
      {sent.length > 0 && texts.confirmed(inStage('done').length, sent.length)}
      {failed.length > 0 && ` ${texts.failed(failed)}`}
    </p>
  )
}
