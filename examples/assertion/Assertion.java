import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Verifies a caller assertion: the metadata {@code x-portico-context} of a call that Portico makes.
 * Copy this file. It needs Java 17 or later. See docs/real-services.md, "Caller assertion".
 */
final class Assertion {
  /** The caller of a call. Account and scopes are empty for a call without a valid token. */
  record Caller(String account, List<String> scopes, String namespace) {}

  private record Field(int number, long value, byte[] content) {
    String text() {
      return new String(content, StandardCharsets.UTF_8);
    }
  }

  private Assertion() {}

  /**
   * The caller of a call to a resource, such as {@code service:shop:Orders.Get}.
   *
   * @param key the service's: the bytes of the base64 text that {@code portico services add} printed
   * @param now milliseconds since 1970
   * @throws IllegalArgumentException for an assertion that is not valid for this call
   */
  static Caller verify(String assertion, byte[] key, String resource, long now) throws GeneralSecurityException {
    int end = Math.max(assertion.lastIndexOf('.'), 0);
    Mac hmac = Mac.getInstance("HmacSHA256");
    hmac.init(new SecretKeySpec(key, "HmacSHA256"));
    byte[] mac = Arrays.copyOf(hmac.doFinal(assertion.substring(0, end).getBytes(StandardCharsets.UTF_8)), 16);
    byte[] expected = Base64.getUrlEncoder().withoutPadding().encode(mac);
    byte[] given = assertion.substring(Math.min(end + 1, assertion.length())).getBytes(StandardCharsets.UTF_8);
    if (!MessageDigest.isEqual(given, expected))
      throw new IllegalArgumentException("the assertion was not signed for this service");
    String account = "", namespace = "", endpoint = "";
    List<String> scopes = new ArrayList<>();
    long expires = 0;
    for (Field field : fields(Base64.getUrlDecoder().decode(assertion.substring(0, assertion.indexOf('.'))))) {
      if (field.number == 1) endpoint = field.text();
      if (field.number == 2) namespace = field.text();
      if (field.number == 6) expires = field.value;
      if (field.number != 3) continue;
      for (Field of : fields(field.content)) {
        if (of.number == 2) account = of.text();
        if (of.number == 3) scopes.add(of.text());
      }
    }
    if (!endpoint.equals(resource)) throw new IllegalArgumentException("the assertion is for another endpoint");
    if (expires <= now) throw new IllegalArgumentException("the assertion has expired");
    return new Caller(account, scopes, namespace);
  }

  /** The fields of a protobuf message: integers, and contents with a length. */
  private static List<Field> fields(byte[] message) {
    List<Field> fields = new ArrayList<>();
    int[] at = {0};
    while (at[0] < message.length) {
      long tag = varint(message, at);
      long value = varint(message, at);
      byte[] content = {};
      if ((tag & 7) == 2) content = Arrays.copyOfRange(message, at[0], at[0] += (int) value);
      else if ((tag & 7) != 0) throw new IllegalArgumentException("the assertion has a field of an unknown kind");
      fields.add(new Field((int) (tag >> 3), value, content));
    }
    return fields;
  }

  private static long varint(byte[] message, int[] at) {
    long value = 0;
    for (int shift = 0; ; shift += 7) {
      byte next = message[at[0]++];
      value |= (long) (next & 127) << shift;
      if (next >= 0) return value;
    }
  }
}
