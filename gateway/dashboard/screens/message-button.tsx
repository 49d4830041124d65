import { useState } from 'preact/hooks'
import { messageTexts } from '#dashboard/texts/cart-actions.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'

const MessageDialog = lazy(
  () => import('./message.tsx').then(({ MessageDialog: Loaded }) => Loaded),
  () => null,
)

/** Button of staff for a message to all carts that are out, or on a hole; without `text` it has only an icon. */
export function MessageButton({ text }: { text?: string }) {
  const { me } = useDashboard()
  const [isOpen, setOpen] = useState(false)
  if (me.value?.role === 'user') return null
  return (
    <>
      <button type="button" class="button" aria-label={messageTexts().messageMany} onClick={() => setOpen(true)}>
        <Icon name="message" />
        {text}
      </button>
      {isOpen && <MessageDialog onClose={() => setOpen(false)} />}
    </>
  )
}
