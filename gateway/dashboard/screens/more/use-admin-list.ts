import { useEffect, useRef, useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { ApiError } from '#shared/client.ts'

/**
 * Loads data for admins and prompts for a PIN if one is needed. `load` runs again when `key` changes, and every
 * `everyMs`: the repeated request never prompts, and keeps the loaded data when the rights have expired.
 */
export function useAdminList<List>(load: () => Promise<List>, everyMs?: number, key = '') {
  const { gate, line } = useDashboard()
  const [list, setList] = useState<List | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [isTurnedDown, turnDown] = useState(false)
  const asked = useRef(0)
  /** Applies a response unless another request was sent meanwhile. */
  const take = async (answer: Promise<List>) => {
    const number = ++asked.current
    const known = await answer
    if (number === asked.current) setList(known)
  }
  const again = async () => {
    setFault(null)
    turnDown(false)
    try {
      await take(gate.act(load))
    } catch (error) {
      if (error instanceof PinCancelled) turnDown(true)
      else setFault(refusalText(error))
    }
  }
  useEffect(() => void again(), [key])
  const isKept = list !== null && everyMs !== undefined && !isTurnedDown && line.state.value.kind === 'live'
  useEffect(() => {
    if (!isKept) return
    const look = () => take(load()).catch((error: unknown) => error instanceof ApiError && turnDown(true))
    const timer = setInterval(() => void look(), everyMs)
    return () => clearInterval(timer)
  }, [isKept, everyMs, key])
  return { list, fault, isTurnedDown, again }
}
