import { useEffect, useState } from 'preact/hooks'
import type { CommandProgress } from '#dashboard/live/commands.ts'
import { screenOf } from '#dashboard/live/safe-lock.ts'
import { messageTexts } from '#dashboard/texts/cart-actions.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { ReadyTexts } from '#dashboard/ui/ready-texts.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { ReadyTextJson } from '#shared/wire/messages/texts.ts'

export const MESSAGE_MAX = 200

interface MessageDialogProps {
  carts: readonly string[]
  onCancel: () => void
  /** Called with the commands to the carts that have a screen. */
  onSent: (sent: readonly CommandProgress[]) => void
}

/** Dialog for a message to the screens of one or more carts: a quick message with one tap, or typed text. */
export function MessageDialog({ carts, onCancel, onSent }: MessageDialogProps) {
  const { api, fleet, commands, screenTypes, site } = useDashboard()
  const texts = messageTexts()
  const [text, setText] = useState('')
  const [ready, setReady] = useState<readonly ReadyTextJson[]>([])
  // a text can be typed without them
  useEffect(() => void api.call('GET /texts').then(setReady, () => undefined), [api])
  const screens = carts.flatMap((cart) => {
    const known = fleet.carts.get(cart)
    const screen = known && screenOf(known, screenTypes.value)
    return screen === undefined ? [] : [{ cart, hardwareId: screen.hardware_id }]
  })
  const readyTexts = (isUrgent: boolean) =>
    ready.filter(({ is_urgent }) => is_urgent === isUrgent).map((one) => one[site.value.language])
  const send = (message: string) =>
    onSent(screens.map((screen) => commands.send({ ...screen, command: 'message', params: { text: message } })))
  return (
    <Question
      title={texts.messageTo(carts)}
      action={texts.send}
      isReady={text.trim() !== '' && screens.length > 0}
      onCancel={onCancel}
      onAnswer={() => send(text.trim())}
    >
      {screens.length > 0 && ready.length > 0 && (
        <ReadyTexts name={texts.quick} urgent={readyTexts(true)} texts={readyTexts(false)} onChosen={send} />
      )}
      <TextField
        name={texts.text}
        hint={texts.left(MESSAGE_MAX - text.length)}
        max={MESSAGE_MAX}
        isLong
        value={text}
        onInput={setText}
      />
      <p>{screens.length === 0 ? texts.noScreen : texts.screens(screens.length)}</p>
    </Question>
  )
}

/** Messages and other commands to several carts: `ask` opens the dialog, and `status` shows what became of them. */
export function useMessages() {
  const [carts, ask] = useState<readonly string[] | null>(null)
  const [sent, setSent] = useState<readonly CommandProgress[]>([])
  const show = (commands: readonly CommandProgress[]) => {
    ask(null)
    setSent(commands)
  }
  const status = (
    <>
      <SentStatus sent={sent} />
      {carts !== null && <MessageDialog carts={carts} onCancel={() => ask(null)} onSent={show} />}
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
